// What Material's list shows of the pages that answer: of each its title, its best sections, and of
// these the sentence that matches. Material takes titles and texts for HTML.
"use strict"

var searching = globalThis.searching ?? {}
searching.results = ({ docs }, { cutKept, han, rows, terms, termsOf }) => {
  const SECTIONS = 4, LENGTH = 200
  const escaped = text => text.replace(/[&<>"]/g, letter => `&#${letter.charCodeAt()};`)

  // {string} text -> {[string, boolean][]}: its pieces, and whether each was asked for
  const lit = (text, wanted) => text.split(cutKept).flatMap((piece = "", i) => {
    if (i % 2) return [[piece, false]]
    return (piece.match(rows) ?? []).flatMap(row => {
      if (!han.test(row)) return [[row, termsOf(row.toLowerCase()).some(term => wanted.has(term))]]
      const found = termsOf(row).map(term => wanted.has(term))
      return [...row].map((character, at) => [character, Boolean(found[at] || found[at - 1] && row.length > 1)])
    })
  })

  const marked = (text, wanted) => lit(text, wanted)
    .map(([piece, found]) => found ? `<mark data-md-highlight>${escaped(piece)}</mark>` : escaped(piece)).join("")
    .replace(/<\/mark>(\s*)<mark data-md-highlight>/g, "$1")

  // {number} of an entry -> {{line, said: Set}[]}: its sentences and their terms, found out once
  const known = new Map()
  const sentences = number => {
    if (!known.has(number))
      known.set(number, (docs[number].text ?? "").split(/\n|(?<=[.!?:])\s|(?<=[。！？])/).filter(Boolean)
        .map(line => ({ line, said: new Set(terms(line)) })))
    return known.get(number)
  }

  // {number} of an entry -> {string}: the sentence with most of what is wanted, as much as is read
  const sentence = (number, wanted) => {
    const says = ({ said }) => [...wanted].filter(term => said.has(term)).length
    const [best] = sentences(number).map(one => ({ ...one, much: says(one) })).sort((a, b) => b.much - a.much)
    if (!best) return ""
    if (best.line.length <= LENGTH) return best.line
    const at = lit(best.line, wanted).reduce(([length, first], [piece, found]) =>
      [length + piece.length, found && first < 0 ? length : first], [0, -1])[1]
    const start = Math.max(0, Math.min(at - LENGTH / 3, best.line.length - LENGTH))
    const from = start && best.line.indexOf(" ", start) + 1 || Math.round(start)
    return `${from ? "… " : ""}${best.line.slice(from, from + LENGTH)}…`
  }

  // {string} word, {string} text -> {string[]}: the longest rows of its characters that the text has
  const stretches = (word, text) => {
    for (let length = word.length; length > 1; length--)
      for (let at = 0; at + length <= word.length; at++)
        if (text.includes(word.slice(at, at + length)))
          return [word.slice(at, at + length), ...stretches(word.slice(at + length), text)]
    return []
  }

  // What Material says is missing (false), and puts into the link so that the page can light it.
  const wordsOf = (number, asked) => {
    const { title, text = "", words = "", tags = [] } = docs[number]
    const besides = new Set(terms([title, words, ...tags].join(" ")))
    const has = term => besides.has(term) || sentences(number).some(({ said }) => said.has(term))
    return Object.fromEntries(asked.flatMap(({ word, variants }) => han.test(word)
      ? stretches(word, `${title} ${text}`).map(row => [row, true])
      : [[word, variants.some(([term]) => has(term))]]))
  }

  // {{page, score, entries}} found, {{term, variants, word}[]} asked -> {object[]}: a page, or sections
  return ({ page, score, entries }, asked) => {
    const wanted = new Set(asked.flatMap(({ variants }) => variants.map(([term]) => term)))
    const parts = entries.slice(0, SECTIONS)
    const top = docs.findIndex(({ location }) => location === page)
    if (!parts.some(({ number }) => number === top)) parts.push({ number: top, score: 0 })
    return parts.map(({ number, score: own }) => ({
      location: docs[number].location,
      title: marked(docs[number].title, wanted),
      text: marked(sentence(number, wanted), wanted),
      score: score * own / entries[0].score,
      terms: wordsOf(number, asked)
    }))
  }
}
