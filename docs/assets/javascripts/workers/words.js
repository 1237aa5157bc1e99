// What search takes for a word, in a page and in a query alike.
// Cuts text at the separator that mkdocs.yml names. What it makes of a word is a "term":
// a Latin word without its ending; of a row of Chinese characters each two neighbours, so that
// nothing hangs on where words are cut.
"use strict"

var searching = globalThis.searching ?? {}
searching.words = separator => {
  const cut = new RegExp(separator)
  const cutKept = new RegExp(`(${separator})`)
  const stop = new RegExp("^([a-z0-9]|an|and|are|as|at|be|but|by|can|does?|for|from|has|have|how|if|in|into|is|its?"
    + "|between|difference|vs|versus|must|my|of|on|or|so|than|that|the|this|to|was|we"
    + "|what|when|where|which|who|why|will|with|you)$")
  const particles = /为什么|什么|怎么[样办]?|怎样|如何|多少|自己|哪[边个里]|还是|这么|变成|区别|机制|[的了吗呢是我请把被要让从在和与]/g
  const han = /\p{sc=Han}/u
  const rows = /\p{sc=Han}+|[^\p{sc=Han}]+/gu
  const spellings = [[/√|根号/g, " sqrt "], [/θ/g, " theta "], [/\bfp(?=(8|16|32|64)\b)/gi, "float"], [/\bbf(?=16\b)/gi, "bfloat"]]

  // {string} -> {string}: without the ending of a plural, of -ed and of -ing
  const stem = word => word.length < 4 || !/^[a-z]+$/.test(word) ? word
    : word.replace(/ies$/, "y").replace(/([^s])s$/, "$1").replace(/(..[^aeiou])(ed|ing)$/, "$1")
      .replace(/([^aeiouls])\1$/, "$1").replace(/e$/, "")

  // {string} -> {string[]}: what stands between separators, in small letters, Chinese by itself
  const words = text => spellings.reduce((all, [from, to]) => all.replace(from, to), text)
    .split(cut).flatMap(piece => piece.toLowerCase().match(rows) ?? [])

  // {string} -> {string[]}: the terms of one word
  const termsOf = word => !han.test(word) || word.length < 2 ? [stem(word)]
    : Array.from({ length: word.length - 1 }, (_, i) => word.slice(i, i + 2))

  // {string} -> {string[]}: the telling words of a text, or all if none tells anything
  const telling = text => {
    const all = words(text)
    const some = all.filter(word => !stop.test(word))
    return some.length ? some : all
  }

  const apart = text => text.replace(particles, " ")

  return {
    cutKept, han, rows, stem, words, termsOf, telling,
    // {string} -> {string[]}: the words of a query; what only asks, in Chinese, parts them, and the
    // kind of an error says little
    asked: query => telling(apart(query.replace(/^\w+(Error|Warning):\s/, ""))),
    // {string} -> {string[]}: the terms of a name, in order
    nameTerms: name => telling(apart(name)).flatMap(termsOf),
    // {string} -> {string[]}: names of code, whole: "is_causal" is more than "causal"
    compounds: text => text.toLowerCase().match(/[a-z]\w*_\w+/g) ?? [],
    // {string} text, {string[]} its words -> {string[]}: the terms of an entry's text, in order
    terms: (text, all = words(text)) => all.filter(word => !stop.test(word)).flatMap(termsOf),
    // {string} name, {boolean} whole -> {string}: what names have in common that differ in case,
    // hyphens, plural and spaces; or, unless it is whole, in words that tell nothing
    squash: (name, whole) => (whole ? words(name) : telling(apart(name))).map(stem).join("")
  }
}
