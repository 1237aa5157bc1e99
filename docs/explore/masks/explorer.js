// The explorer of explore/masks: a mask, the line that makes it, and how others want it.
// Before it runs, the page shows what it shows at first; without scripts the form is hidden.
(() => {
  "use strict"
  const form = document.querySelector(".mask-explorer")
  if (!form) return
  const field = name => form.elements.namedItem(name)
  const part = name => form.querySelector(`[data-of=${name}]`)
  // What stays as it is is not written: the browser would lay out the page again.
  const write = (name, key, text) => { if (part(name)[key] !== text) part(name)[key] = text }
  const size = name => Number(field(name).value)
  const range = length => [...Array(length).keys()]
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name])
  const listed = numbers => numbers.join(form.dataset.comma)

  const update = () => {
    const causal = field("causal")
    causal.disabled = field("window").checked || field("prefix").checked
    if (causal.disabled) causal.checked = true
    for (const name of ["causal", "window", "prefix", "padding"])
      field(`${name}-by`).disabled = !field(name).checked

    // 0 stands for a mask that is not chosen
    const chosen = name => field(name).checked ? size(`${name}-by`) : 0
    const n = size("n")
    const m = size("m")
    const window = chosen("window")
    const prefix = chosen("prefix")
    const real = Math.max(m - chosen("padding"), 0)
    const padded = field("padding").checked
    const offset = field("causal-by").value === "last" ? m - n : 0

    const sees = (i, j) => j < real && (
      !causal.checked || j < prefix || (j <= i + offset && (!window || j > i + offset - window)))
    const rows = range(n).map(i => range(m).map(j => sees(i, j)))

    // The two lines in PyTorch. A diagonal of 0 is the default, and not written.
    let mask = `torch.ones(${n}, ${m}, dtype=torch.bool)`
    if (causal.checked) mask += `.tril(${offset || ""})`
    if (window) mask += `.triu(${offset - window + 1 || ""})`
    if (prefix) mask += ` | (torch.arange(${m}) < ${prefix})`
    if (padded) mask = `${prefix ? `(${mask})` : mask} & keep`
    const keep = padded ? `keep = torch.arange(${m}) < ${real}\n` : ""
    write("code", "textContent", `import torch\n${keep}mask = ${mask}`)

    // The same as a rule for FlexAttention
    const plus = x => x ? ` ${x < 0 ? "-" : "+"} ${Math.abs(x)}` : ""
    let rules = []
    if (causal.checked) rules.push(`(k <= q${plus(offset)})`)
    if (window) rules.push(`(k > q${plus(offset - window)})`)
    if (prefix) rules = [`(${rules.join(" & ")} | (k < ${prefix}))`]
    if (padded) rules.push(`(k < ${real})`)
    write("flex", "textContent", `lambda b, h, q, k: ${rules.join(" & ") || "k >= 0"}`)

    const cell = (may, j) => `<td${may ? ' class="may"' : ""}>${Number(may)}</td>`
    const line = (row, i) => `<tr><th scope="row">${i}</th>${row.map(cell).join("")}</tr>`
    const keys = range(m).map(j => `<th scope="col">${j}</th>`).join("")
    write("keys", "innerHTML", part("keys").firstElementChild.outerHTML + keys)
    write("rows", "innerHTML", rows.map(line).join(""))

    const counts = rows.map(row => row.filter(Boolean).length)
    const empty = range(n).filter(i => !counts[i])
    const allowed = counts.reduce((sum, count) => sum + count)
    const values = { allowed, all: n * m, counts: listed(counts), empty: listed(empty) }
    const sentences = [form.dataset.summary, ...empty.length ? [form.dataset.empty] : []]
    write("summary", "textContent", fill(sentences.join(form.dataset.space), values))

    part("is-causal").hidden = rows.some((row, i) => row.some((may, j) => may !== (j <= i)))
    part("no-mask").hidden = allowed < n * m
    for (const row of form.querySelectorAll("[data-padding]")) row.hidden = !padded
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
