// The explorer of explore/softmax: one query, six keys, and their softmax. The dot
// products of their first d components come from the page. Without scripts the form is hidden.
(() => {
  "use strict"
  const form = document.querySelector(".softmax-explorer")
  const data = document.getElementById("softmax-scores")
  if (!form || !data) return
  const scores = JSON.parse(data.textContent)
  const field = name => form.elements.namedItem(name)
  // What stays as it is is not written: the browser would lay out the page again.
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text }
  const show = (name, text) => write(form.querySelector(`[data-of=${name}]`), String(text))
  const sum = numbers => numbers.reduce((total, number) => total + number, 0)

  const update = () => {
    const power = Number(field("power").value)
    const temperature = Number(field("temperature").value)
    const scale = field("scale").checked ? 2 ** (-power / 2) : 1
    const logits = scores[power].map(score => score * scale / temperature)
    const top = Math.max(...logits)
    const powers = logits.map(logit => Math.exp(logit - top))
    const weights = powers.map(number => number / sum(powers))
    // −Σ w ln w, and the length of the Jacobian w_i ([i = j] − w_j). What is left beside a weight
    // near one is the sum of the others: 1 − w would lose all its digits.
    const entropy = Math.log(sum(powers)) - sum(weights.map((w, i) => w && w * (logits[i] - top)))
    const others = i => sum(weights.filter((_, j) => j !== i))
    const jacobian = weights.flatMap((w, i) => weights.map((v, j) => w * (i === j ? others(i) : v)))

    for (const [name, shown] of [["power", 2 ** power], ["temperature", temperature]]) {
      field(name).setAttribute("aria-valuetext", shown)
      show(name, shown)
    }
    show("entropy", Math.abs(entropy).toFixed(3))
    show("gradient", Math.hypot(...jacobian).toPrecision(3))
    form.querySelectorAll("tbody tr").forEach((row, i) => {
      const [score, logit, weight] = row.querySelectorAll("td")
      write(score, scores[power][i].toFixed(2))
      write(logit, logits[i].toFixed(2))
      write(weight.firstChild, `${weights[i].toFixed(3)} `)
      const [bar, width] = [row.querySelector("rect"), `${(100 * weights[i]).toFixed(1)}%`]
      if (bar.getAttribute("width") !== width) bar.setAttribute("width", width)
    })
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
