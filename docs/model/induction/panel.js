// The figure of model/induction that the reader works: a text, where both layers look, and what comes
// next, by the model in forward.js. explorer.js fetches both when the form comes into view.
(() => {
  "use strict"
  const form = document.querySelector(".induction")
  if (!form) return
  const { SYMBOLS, CONTEXT, read, run } = attnInduction
  const source = new URL("weights.js", document.currentScript.src)
  const said = form.dataset
  const part = name => form.querySelector(`[data-of=${name}]`)
  const places = form.querySelector(".tokens > div")
  const switches = [...form.elements.layer]
  const fill = (text, given) => text.replace(/\{(\w+)\}/g, (_, name) => given[name])
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text }
  const seen = symbol => symbol === " " ? "␣" : symbol
  const percent = share => `${(100 * share).toFixed(1)}%`
  let model, failed, hovered
  let [shown, found] = [form.elements.text.value, null]

  const problem = characters => {
    const wrong = characters.find(character => !SYMBOLS.includes(character))
    if (failed) return said.lost
    if (!characters.length) return said.empty
    if (wrong) return fill(said.unknown, { character: wrong })
    return characters.length > CONTEXT ? fill(said.long, { length: characters.length }) : ""
  }

  // A token more or less: its button is a copy of another. The last one is chosen.
  const rebuild = characters => {
    const [pattern] = places.children
    hovered = undefined
    places.replaceChildren(...characters.map((character, i) => {
      const label = pattern.cloneNode(true)
      const [radio, symbol] = label.children
      const given = { symbol: seen(character), place: i + 1 }
      radio.value = i
      radio.defaultChecked = radio.checked = i === characters.length - 1
      radio.setAttribute("aria-label", fill(said.place, given))
      symbol.textContent = given.symbol
      return label
    }))
  }

  const show = characters => {
    const radios = [...places.querySelectorAll("input")]
    const token = hovered ?? radios.findIndex(radio => radio.checked)
    const rows = found.maps.map(map => map[token])
    places.querySelectorAll("label").forEach((label, i) => {
      label.classList.toggle("shown", i === token)
      label.querySelectorAll("rect").forEach((bar, layer) => {
        const weight = rows[layer][i] ?? 0
        bar.setAttribute("y", percent(1 - weight))
        bar.setAttribute("height", percent(weight))
      })
    })
    write(form.querySelector("output"), rows.map((row, layer) => {
      const most = row.indexOf(Math.max(...row))
      const given = { symbol: seen(characters[most]), place: most + 1, weight: row[most].toFixed(2) }
      return fill(said.looks, { layer: layer + 1, ...given })
    }).join(" "))
    write(part("after"), fill(said.next, { symbol: seen(characters[token]), place: token + 1 }))
    const likely = Array.from(found.probabilities[token], (p, i) => [p, SYMBOLS[i]])
    likely.sort(([a], [b]) => b - a)
    form.querySelectorAll("tbody tr").forEach((row, i) => {
      const [[probability, symbol], cell] = [likely[i], row.lastElementChild]
      write(row.firstElementChild, seen(symbol))
      write(cell.firstChild, `${probability.toFixed(3)} `)
      cell.querySelector("rect").setAttribute("width", percent(probability))
    })
  }

  const update = () => {
    const characters = [...form.elements.text.value.toLowerCase()]
    const wrong = problem(characters)
    write(part("problem"), wrong)
    part("found").hidden = Boolean(wrong)
    form.elements.text.setAttribute("aria-invalid", Boolean(wrong))
    if (wrong || !model) return
    if (characters.join("") !== shown) {
      shown = characters.join("")
      rebuild(characters)
    }
    const tokens = characters.map(character => SYMBOLS.indexOf(character))
    found = run(model, tokens, switches.map(box => box.checked))
    show(characters)
  }

  const hover = place => {
    hovered = place
    if (found && !part("found").hidden) show([...shown])
  }
  places.addEventListener("pointerover", event => {
    const label = event.target.closest("label")
    if (label && event.pointerType === "mouse") hover([...places.children].indexOf(label))
  })
  places.addEventListener("pointerleave", () => hover(undefined))
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  form.addEventListener("click", event => {
    if (event.target.name !== "try") return
    form.elements.text.value = event.target.value
    update()
  })

  const script = document.createElement("script")
  script.addEventListener("load", () => {
    model = read(attnInduction.weights)
    update()
  })
  script.addEventListener("error", () => {
    failed = true
    update()
  })
  script.src = source
  document.head.append(script)
})()
