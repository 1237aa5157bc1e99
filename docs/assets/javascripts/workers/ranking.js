// Which pages answer a query, best first: BM25 over the entries (pages and their sections), with
// fields that weigh differently, neighbours that stand together, and names.
// An entry is as docs/_tools/search.py writes it: {location, title, tags, others, terms, text, words}.
"use strict"

var searching = globalThis.searching ?? {}
searching.ranking = ({ docs }, { compounds, han, nameTerms, squash, terms, words }) => {
  const FIELDS = { title: 5, tags: 5, terms: 1, others: 2, text: 1, words: 0.3 }
  const HEADING = 1, IDENTIFIER = 5
  const NAMES = { title: 4, terms: 3.5, tags: 3, others: 2 } // what leads first, of equal names
  const SATURATION = 1.4, LENGTH = 0.5 // of BM25: how soon a word said again, or a longer text, counts less
  const LIKE = 1.5 // what the likeness of a name adds to a score
  const COVER = 1 // and what names have of a query, all together
  const PAGE = 2 // what counts all that a page says, beside its best section
  const LEAD = 1000 // what a name leads to comes first
  const LOOKED_AT = 60 // entries whose words are compared in order
  const LATER = 0.5 // the reference, and sources, come after what chapters say

  const pageOf = ({ location }) => location.split("#")[0]
  const listed = (entry, field) => [entry[field] ?? []].flat()

  const postings = new Map() // term -> Map(number of an entry -> how much it says of it)
  const surfaces = new Map() // word, as pages write it -> how often
  const leading = new Map() // squashed name -> [{number, rank}] of the entries that it leads to
  const names = [] // {number, share, terms}
  const rows = new Map() // Chinese name -> 1: a dictionary of what may be meant
  const sequences = docs.map(() => []) // of each entry, the terms of its fields in order

  const lengths = docs.map(entry => (entry.text ?? "").length)
  const mean = lengths.reduce((sum, length) => sum + length, 1) / docs.length
  const name = (text, number, field) => {
    const heading = docs[number].location.includes("#") && field !== "terms"
    names.push({ number, share: heading || field === "terms" ? 0.6 : 1, terms: [...new Set(nameTerms(text))] })
    for (const key of heading ? [`${squash(text, true)}!`] : [squash(text), `${squash(text, true)}!`])
      leading.set(key, [...leading.get(key) ?? [], { number, rank: heading ? HEADING : NAMES[field] }])
    if (!heading) for (const word of words(text)) if (han.test(word)) rows.set(word, 1)
  }
  docs.forEach((entry, number) => {
    for (const [field, boost] of Object.entries(FIELDS)) {
      const norm = field === "text" ? 1 - LENGTH + LENGTH * lengths[number] / mean : 1
      for (const text of listed(entry, field)) {
        const all = words(text)
        const found = terms(text, all)
        if (field !== "words") sequences[number].push(found)
        for (const term of [...found, ...compounds(text), ...field in NAMES ? nameTerms(text) : []]) {
          if (!postings.has(term)) postings.set(term, new Map())
          const of = postings.get(term)
          of.set(number, (of.get(number) ?? 0) + boost / norm)
        }
        for (const word of all) if (!han.test(word)) surfaces.set(word, (surfaces.get(word) ?? 0) + 1)
        if (field in NAMES && !("api" in entry)) name(text, number, field)
      }
    }
    if (entry.api) leading.set(entry.api, [{ number, rank: IDENTIFIER }])
  })

  // Rare terms weigh more. Of two Chinese characters that are rarely neighbours, most are of two words.
  const weight = term => {
    const often = postings.get(term)?.size ?? docs.length
    return Math.log(1 + docs.length / often) * (!han.test(term) ? 1 : term.length > 1 ? often / (often + 3) : 0.3)
  }
  const sum = (list, of) => list.reduce((total, item) => total + of(item), 0)

  const adjoin = (all, term, next) => all.some(sequence =>
    sequence.some((other, i) => other === term && sequence[i + 1] === next))

  // How much of a query stands together in an entry, of 1: its terms as neighbours, in order.
  const together = (asked, number) => {
    const pairs = asked.slice(1).map((term, i) => [asked[i], term])
    const there = pairs.filter(([term, next]) => adjoin(sequences[number], term, next))
    return pairs.length && there.length / pairs.length
  }

  // How alike a query and a name are, of 1: what of either is in the other, by weight.
  const alike = (asked, name) => {
    const both = name.filter(term => asked.includes(term))
    return both.length && sum(both, weight) ** 2 / (sum(asked, weight) * sum(name, weight))
  }

  // {string} query, {{term, variants: [[term, factor]]}[]} asked
  // -> {{page, score, entries: [{number, score}]}[]}, best first
  const rank = (query, asked) => {
    const scores = new Map() // entry -> score of each term
    asked.forEach(({ variants }, i) => {
      for (const [term, factor] of variants)
        for (const [number, said] of postings.get(term) ?? []) {
          if (!scores.has(number)) scores.set(number, asked.map(() => 0))
          const of = scores.get(number)
          of[i] = Math.max(of[i], factor * weight(term) * said / (said + SATURATION))
        }
    })
    const sought = asked.map(({ term }) => term)
    const likeness = new Map()
    const covered = new Map() // page -> terms of the query that its own names have
    for (const { number, share, terms: name } of names)
      if (scores.has(number))
{
        likeness.set(number, Math.max(likeness.get(number) ?? 0, share * alike([...new Set(sought)], name)))
        const page = pageOf(docs[number])
        if (share === 1) covered.set(page, name.reduce((all, term) => all.add(term), covered.get(page) ?? new Set()))
      }
    const leads = new Map()
    for (const key of [query.match(/^[\w.]*?(\w+)(\(.*)?$/)?.[1], squash(query), `${squash(query, true)}!`])
      for (const { number, rank: high } of leading.get(key) ?? [])
        leads.set(number, Math.max(leads.get(number) ?? 0, high))

    const entries = [...scores].map(([number, of]) =>
      ({ number, of, score: sum(of, score => score) * (1 + LIKE * (likeness.get(number) ?? 0))
        * (docs[number].location.endsWith("#sources") ? LATER : 1) }))
      .sort((a, b) => b.score - a.score)
    for (const entry of entries.slice(0, LOOKED_AT)) entry.score *= 1 + together(sought, entry.number)
    const pages = new Map()
    for (const { number, of, score } of entries) {
      const page = pageOf(docs[number])
      if (!pages.has(page)) pages.set(page, { page, best: asked.map(() => 0), like: 0, entries: [] })
      const found = pages.get(page)
      found.best = found.best.map((most, i) => Math.max(most, of[i]))
      found.like = Math.max(found.like, likeness.get(number) ?? 0)
      found.entries.push({ number, score: score + LEAD * (leads.get(number) ?? 0) })
    }
    for (const found of pages.values()) {
      found.entries.sort((a, b) => b.score - a.score)
      const [{ number, score }] = found.entries
      const all = PAGE * sum(found.best, most => most) * (1 + LIKE * found.like
        + COVER * sum(sought.filter(term => covered.get(found.page)?.has(term)), weight) / sum(sought, weight))
      found.score = leads.has(number) ? score + all : (score + all) * ("api" in docs[number] ? LATER : 1)
    }
    return [...pages.values()].sort((a, b) => b.score - a.score)
  }

  return {
    rank, surfaces, rows,
    known: term => postings.has(term),
    // {string} term, {string} next -> {boolean}: whether they are neighbours anywhere
    neighbours: (term, next) => sequences.some(all => adjoin(all, term, next))
  }
}
