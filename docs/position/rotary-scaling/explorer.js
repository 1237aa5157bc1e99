// The explorer of position/rotary-scaling: after how many tokens a rotary pair has turned once,
// by rule. Without scripts the form is hidden and a chart shows the rules for one head.
(() => {
  "use strict"
  const form = document.querySelector(".scaling-explorer")
  if (!form) return
  const [near, shownPairs] = [1e-9, [0, 16, 24, 32, 40, 48]]  // of a head of 128; and the last one
  const value = name => form.elements.namedItem(name).value
  // What stays as it is is not written: the browser would lay out the page again.
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text }
  const fill = (text, given) => text.replace(/\{(\w+)\}/g, (_, name) => given[name])
  const [unit, size, digits] = form.dataset.unit.split(" ")
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const number = x => x >= 1e6 ? `${(x / size).toLocaleString("en-US", fixed)} ${unit}`
    : x >= 100 ? Math.round(x).toLocaleString("en-US") : x.toFixed(2)
  const clip = x => Math.min(Math.max(x, 0), 1)

  const rules = {
    plain: () => 1,
    linear: ({ factor }) => 1 / factor,
    ntk: ({ factor, dim, i }) => factor ** (-2 * i / (dim - 2)),
    yarn: ({ factor, context, theta, dim, i }) => {
      const pair = turns => dim * Math.log(context / (turns * 2 * Math.PI)) / (2 * Math.log(theta))
      const [fast, slow] = [Math.max(Math.floor(pair(32)), 0), Math.min(Math.ceil(pair(1)), dim - 1)]
      const divided = clip((i - fast) / (slow - fast))
      return 1 - divided + divided / factor
    },
    llama3: ({ factor, context, omega }) => {
      const kept = clip((context * omega / (2 * Math.PI) - 1) / (4 - 1))
      return kept + (1 - kept) / factor
    },
  }

  const pairs = ({ dim, context, theta, rule, factor, length }) => [...Array(dim / 2).keys()].map(i => {
    const omega = theta ** (-2 * i / dim)
    const found = omega * rules[rule]({ factor, context, theta, dim, i, omega })
    const partly = context * omega < 2 * Math.PI
    return { omega, found, slower: omega / found, fresh: partly && length * found > context * omega * (1 + near) }
  })

  const update = () => {
    const [dim, context, theta, factor, length] =
      ["dim", "context", "theta", "factor", "length"].map(name => Number(value(name)))
    const all = pairs({ dim, context, theta, rule: value("rule"), factor, length })
    const turn = 2 * Math.PI
    form.querySelectorAll("tbody tr").forEach((row, j) => {
      const pair = shownPairs[j] === undefined ? dim / 2 - 1 : shownPairs[j] * dim / 128
      const { omega, found, fresh } = all[pair]
      write(row.querySelector("th"), String(pair))
      const shown = [turn / omega, turn / found, context * omega / turn, length * found / turn]
      row.querySelectorAll("td").forEach((cell, k) => {
        write(cell, number(shown[k]))
        cell.classList.toggle("may", fresh)
      })
    })
    const count = test => all.filter(test).length
    const kept = count(({ slower }) => slower < 1 + near)
    const divided = factor > 1 ? count(({ slower }) => slower > factor * (1 - near)) : 0
    write(form.querySelector("output"), fill(form.dataset.said, {
      pairs: all.length, kept, divided, between: all.length - kept - divided, factor,
      length: length.toLocaleString("en-US"), context: context.toLocaleString("en-US"),
      new: count(({ fresh }) => fresh), degrees: (all[0].found * 180 / Math.PI).toFixed(2),
    }))
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
