// The picture on the home page: attention of a word of the book's sentence, computed here from the
// words' scores and values, which the page holds. Without scripts a figure and a table stand there.
(() => {
  "use strict"
  const form = document.querySelector(".attention")
  const data = document.getElementById("attention-data")
  if (!form || !data) return
  const { scores, values, words, meanings, reasons } = JSON.parse(data.textContent)
  const said = form.dataset
  const field = name => form.elements.namedItem(name)
  const part = name => form.querySelector(`[data-of=${name}]`)
  // What stays as it is is not written: the browser would lay out the page again.
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text }
  const sum = numbers => numbers.reduce((total, number) => total + number, 0)
  const fill = (text, given) => text.replace(/\{(\w+)\}/g, (_, name) => given[name])
  const quoted = word => fill(said.quoted, { word })
  // The largest numbers, all that are alike, and what they are of
  const largest = (numbers, names) => {
    const most = Math.max(...numbers)
    return [most.toFixed(2), names.filter((_, i) => most - numbers[i] < 1e-9)]
  }

  const weighed = (word, sharpness, causal) => {
    const logits = scores[word].map(score => score * sharpness)
    const top = Math.max(...logits)
    const powers = logits.map((logit, j) => causal && j > word ? 0 : Math.exp(logit - top))
    return powers.map(power => power / sum(powers))
  }

  // From the word that asks to another, over those between; to itself, a loop
  const arc = (from, to) => {
    const [start, end] = [100 * from + 50, 100 * to + 50]
    const far = Math.abs(to - from)
    const height = far ? 112 - 28 * (far + 1) : 48
    const out = far ? 0 : 60
    return `M${start} 112C${start - out} ${height} ${end + out} ${height} ${end} 112`
  }

  const sentence = (word, weights, brought) => {
    if (field("causal").checked && word === 0) return reasons[word] + said.alone
    const [weight, most] = largest(weights, words)
    const asks = { word: quoted(words[word]), words: most.map(quoted).join(said.join), weight }
    const [number, names] = largest(brought, meanings)
    const takes = names.map(name => fill(said.gain, { name, number })).join(said.join)
    const parts = [reasons[word], fill(most.length > 1 ? said.each : said.top, asks)]
    return [...parts, fill(said.brought, { meanings: takes })].join("")
  }

  const update = () => {
    const word = Number(field("word").value)
    const causal = field("causal").checked
    const weights = weighed(word, Number(field("sharpness").value), causal)
    const brought = meanings.map((_, k) => sum(weights.map((weight, j) => weight * values[j][k])))

    part("arcs").querySelectorAll("path").forEach((path, j) => {
      path.setAttribute("d", arc(word, j))
      path.setAttribute("stroke-width", (16 * weights[j]).toFixed(2))
    })
    form.querySelectorAll(".parts b").forEach((place, j) => {
      write(place, causal && j > word ? said.masked : weights[j].toFixed(2))
    })
    form.querySelectorAll(".brought tr").forEach((row, k) => {
      row.querySelector("rect").setAttribute("width", `${(100 * brought[k]).toFixed(1)}%`)
      write(row.lastElementChild, brought[k].toFixed(2))
    })
    write(part("of-word"), fill(said.ofWord, { word: quoted(words[word]) }))
    write(part("to-word"), fill(said.toWord, { word: quoted(words[word]) }))
    write(part("sharpness"), field("sharpness").value)
    write(form.querySelector("output"), sentence(word, weights, brought))
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
