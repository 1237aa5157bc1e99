// The worker that pages ask: it fetches the index of their language once somebody searches, and
// answers queries in place of the theme's own. The page's address of it names the language:
// search.js?en/…
(() => {
  "use strict"

  const READY = 1, QUERY = 2, RESULT = 3  // Material's types of messages
  const PAGES = 10

  // in a copy that is read from the file system, this is a script of a frame
  const framed = typeof document === "object"
  const here = framed ? document.currentScript.src : location.href
  const language = here.match(/\?(\w+)\//)[1]
  const at = path => new URL(path, here).href

  // Returns what answers a query.
  const start = async () => {
    const scripts = ["words.js", "ranking.js", "asking.js", "results.js", `../../../search/${language}.js`]
    await importScripts(...scripts.map(at)) // in a frame, a promise
    const tools = searching.words(searchIndex.separator)
    const ranking = searching.ranking(searchIndex, tools)
    const ask = searching.asking(tools, ranking)
    const item = searching.results(searchIndex, tools)
    return query => {
      const { terms, unknown, begun } = ask(query)
      const pages = ranking.rank(query, terms)
      // who quotes words wants all of them
      const wanted = query.includes('"') ? pages.filter(({ best }) => !unknown.length && best.every(Boolean)) : pages
      return { items: wanted.slice(0, PAGES).map(found => item(found, terms)), suggest: begun.slice(0, 1), unknown }
    }
  }

  // What is not in the index goes to the page by a channel: Material's messages have no place for it.
  const channel = new BroadcastChannel("search")
  let answer
  addEventListener("message", async ({ data: { type, data: query } }) => {
    if (type !== QUERY) return // what Material would set up is search_index.json, which is no more
    // the page says at once that nothing is typed
    if (query) answer ??= start()
    if (!answer) return
    const { unknown, ...found } = (await answer)(query)
    postMessage({ type: RESULT, data: found })
    channel.postMessage({ query, unknown })
  })
  postMessage({ type: READY })
})()
