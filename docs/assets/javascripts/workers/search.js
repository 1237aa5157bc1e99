// The worker that pages ask: it fetches the index of their language once somebody searches, says a
// query in words of that index, and has the theme's own worker answer. The page's address of it
// names both: search.js?en/<the theme's worker>.
(() => {
  "use strict"

  const SETUP = 0, READY = 1, QUERY = 2, RESULT = 3  // Material's types of messages

  // in a copy that is read from the file system, this is a script of a frame
  const framed = typeof document === "object"
  const here = framed ? document.currentScript.src : location.href
  const [, language, worker] = here.match(/\?(\w+)\/([^?]+)/)
  const at = path => new URL(path, here).href

  // Material takes each word for the start of one, so that "a" finds most of the site, cuts Chinese
  // words short, and fails at the ":" of an error message. So ask for words that the index has.
  const stop = new RegExp("^([a-z0-9]|an|and|are|as|at|be|but|by|can|does?|for|from|has|have|how|if|in|is|its?"
    + "|must|my|of|on|or|so|than|that|the|this|to|was|what|when|which|will|with"
    + "|的|了|是|在|和|与|也|都|就|把|要|吗|呢|我|自己|怎么|怎样|如何|什么|为什么)$")

  // the longest words that are known, from the left; docs/_tools/search.py cuts tags likewise
  const pieces = (word, known) => {
    let end = word.length
    while (end > 1 && !known.has(word.slice(0, end))) end--
    return end < word.length ? [word.slice(0, end), ...pieces(word.slice(end), known)] : [word]
  }

  const inKnownWords = (query, separator, known) => {
    if (query.includes('"')) return query // who quotes words wants all of them: Material's own search
    const begins = word => [...known].some(other => other.startsWith(word))
    const words = query.split(separator)
      .flatMap(word => word.toLowerCase().match(/\p{sc=Han}+|[^\p{sc=Han}]+/gu) ?? [])
      .flatMap(word => /[a-z0-9]/.test(word) && begins(word) ? word : pieces(word, known))
    const telling = words.filter(word => !stop.test(word))
    return [...new Set(telling.length ? telling : words)].flatMap(word => {
      // Material drops the last of a row of Chinese characters, so it gets one to drop
      if (/\p{sc=Han}./u.test(word)) return `${word}㐀^2`
      const start = word.replace(/(?<=....)(e?s|ed|ing)$/, "")
      return known.has(word) ? [`${word}^2`, ...word.length > 3 ? [start] : []] : start
    }).join(" ")
  }

  // Frames have no workers either. What stands in for one talks to the window it is made in, which
  // must not be this frame: all that this one is told goes to the page.
  const standIn = async () => {
    const between = document.body.appendChild(document.createElement("iframe")).contentWindow
    between.document.write(`<body><script src="${at("../../offline/iframe-worker.js")}"></script>`)
    between.document.close()
    await new Promise(loaded => between.onload = loaded)
    return between.IFrameWorker
  }

  // Returns what asks the theme's worker.
  const start = async () => {
    await importScripts(at(`../../../search/${language}.js`))
    const { config, docs, words, names } = searchIndex
    const separator = new RegExp(config.separator)
    const known = new Set(words.split(" "))
    const entries = new Map(Object.entries(names))

    const theme = new (framed ? await standIn() : Worker)(at(worker))
    theme.postMessage({ type: SETUP, data: { config, docs, options: { suggest: true } } })
    await new Promise(ready => theme.addEventListener("message", ready, { once: true }))

    const asked = [] // for each query on its way, the page with the entry of the name it asks for
    const page = ([{ location }]) => location.split("#")[0]
    theme.addEventListener("message", ({ data: { data: found } }) => {
      const first = asked.shift()
      found.items.sort((a, b) => (page(b) === first) - (page(a) === first))
      postMessage({ type: RESULT, data: found })
    })
    return query => {
      asked.push(entries.get(query.match(/^[\w.]*?(\w+)(\(.*)?$/)?.[1]))
      theme.postMessage({ type: QUERY, data: inKnownWords(query, separator, known) })
    }
  }

  let ask
  addEventListener("message", async ({ data: { type, data: query } }) => {
    if (type !== QUERY) return // what Material would set up is search_index.json, which holds nothing
    // the page says at once that nothing is typed
    if (query) ask ??= start()
    if (ask) (await ask)(query)
  })
  postMessage({ type: READY })
})()
