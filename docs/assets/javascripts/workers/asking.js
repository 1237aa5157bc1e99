// What a query asks for: its words as terms of the index, and what is near those that it has not.
"use strict"

var searching = globalThis.searching ?? {}
searching.asking = ({ asked, compounds, han, termsOf, stem }, { known, surfaces, neighbours, rows }) => {
  const ENDED = 0.4 // what a word counts that only begins as the last one typed does
  const MENDED = 0.8 // and one that is near what was typed
  const OFFERED = 3

  // Damerau and Levenshtein: how many letters are missing, too many, wrong or two in wrong order
  const distance = (a, b) => {
    const rows = [[...Array(b.length + 1).keys()]]
    for (let i = 1; i <= a.length; i++) {
      rows[i] = [i]
      for (let j = 1; j <= b.length; j++) {
        rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] !== b[j - 1]))
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1)
      }
    }
    return rows[a.length][b.length]
  }

  // {string} -> {string[]}: words that one may have meant, the likeliest first
  const nearTo = word => {
    const chinese = han.test(word)
    if (word.length < (chinese ? 2 : 3) || /\d/.test(word)) return []
    const most = chinese || word.length < 8 ? 1 : 2
    return [...chinese ? rows : surfaces]
      .filter(([other, often]) => Math.abs(other.length - word.length) <= most && (chinese || often > 1)
        && (chinese || word.length > 3 || other.length > 3) && chinese === han.test(other))
      .map(([other, often]) => ({ other, often, far: distance(word, other) + (word[0] !== other[0]) / 2 }))
      .filter(({ far }) => far < most + 1)
      .sort((a, b) => a.far - b.far || b.often - a.often)
      .map(({ other }) => other).slice(0, OFFERED)
  }

  // {string} -> {string[]?}: two words written as one, where pages have them side by side
  const apart = word => Array.from({ length: Math.max(0, word.length - 3) }, (_, i) => [word.slice(0, i + 2), word.slice(i + 2)])
    .find(([a, b]) => surfaces.has(a) && surfaces.has(b) && neighbours(stem(a), stem(b)))

  const begunBy = word => [...surfaces.keys()]
    .filter(other => other.startsWith(word) && other !== word)
    .sort((a, b) => surfaces.get(b) - surfaces.get(a)).slice(0, 20)

  // One word of a query -> what is asked for it, and what is said of it.
  const one = (word, typing) => {
    const all = termsOf(word)
    const exact = all.filter(known).map(term => ({ term, variants: [[term, 1]], word }))
    // of a Chinese word with one wrong character the rest is known
    const near = exact.length > all.length / 2 ? [] : nearTo(word)
    const begun = typing && word.length > 1 ? begunBy(word) : []
    const ended = begun.flatMap(termsOf).map(term => [term, ENDED])
    if (exact.length && !near.length) {
      if (exact.length === 1) exact[0].variants.push(...ended)
      return { terms: exact }
    }
    if (begun.length) return { terms: [{ term: ended[0][0], variants: ended, word }], begun }
    const two = apart(word)
    if (two) return { terms: two.map(part => ({ term: stem(part), variants: [[stem(part), 1]], word: part })) }
    const [meant] = near.filter(([first]) => han.test(first) || first === word[0])
    return {
      unknown: { word, near },
      terms: meant ? termsOf(meant).map(term => ({ term, variants: [[term, MENDED]], word: meant })) : exact
    }
  }

  // {string} query -> {{terms, unknown: [{word, near}], begun: string[]}}
  return query => {
    const words = asked(query)
    const found = words.map((word, i) => one(word, i === words.length - 1 && /\S$/.test(query)))
    for (const [i, word] of words.slice(1).entries()) { // "soft max"
      const joined = words[i] + word
      if (surfaces.has(joined) && !han.test(joined) && !neighbours(stem(words[i]), stem(word)))
        found.push({ terms: [{ term: stem(joined), variants: [[stem(joined), 1]], word: joined }] })
    }
    for (const word of compounds(query)) if (known(word)) found.push({ terms: [{ term: word, variants: [[word, 1]], word }] })
    return {
      terms: found.flatMap(({ terms }) => terms),
      unknown: found.flatMap(({ unknown }) => unknown ?? []),
      begun: found[words.length - 1]?.begun ?? []
    }
  }
}
