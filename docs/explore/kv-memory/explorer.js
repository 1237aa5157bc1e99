// The calculator of explore/kv-memory: the formula of kv_cache_bytes, on the same data.
// All sizes are BigInt, so every byte is right. Without this script the form is not shown.
(() => {
  "use strict"
  const form = document.querySelector(".kv-calculator")
  const data = document.getElementById("kv-models")
  if (!form || !data) return
  const models = new Map(JSON.parse(data.textContent).map(row => [row.name, row]))
  const words = form.dataset
  const field = name => form.elements.namedItem(name)
  // 1e6 and 131072.0 are numbers too, which BigInt does not read as text
  const number = name => Number(field(name).value)
  const whole = name => BigInt(number(name))

  // What is cached, kind of layers by kind: elements of each token, or of those in a window,
  // elements of each compressed entry, and bytes of a state.
  const kinds = row => {
    const size = name => BigInt(row[name] ?? 0)
    const heads = 2n * size("num_kv_heads")
    const kind = (layers, entry, more) => ({ layers, entry, window: 0n, index: 0n, ratio: 0n, compressed: 0n, state: 0n, ...more })
    const all = (row.layers ?? []).map(given => {
      const [count, shared, g, d, window, index, ratio, compressed, state] = [
        "count", "shared", "num_kv_heads", "head_dim", "window", "index_dim", "ratio", "compressed_dim", "state_bytes",
      ].map(name => BigInt(given[name] ?? 0))
      const e = BigInt(given.value_dim ?? given.head_dim ?? 0)
      return kind(count - shared, g * (d + e), { window, index, ratio, compressed, state })
    })
    const windowed = heads * BigInt(row.windowed_head_dim ?? row.head_dim ?? 0)
    return [
      kind(size("full_layers") - size("shared_full_layers"), heads * size("head_dim")),
      kind(size("windowed_layers") - size("shared_windowed_layers"), windowed, { window: size("window") }),
      kind(size("latent_layers"), size("kv_rank") + size("rope_dim")),
      ...all,
    ].filter(({ layers }) => layers)
  }
  const cache = (row, length, batch, itemsize) => kinds(row).reduce((sum, kind) => {
    const seen = kind.window && kind.window < length ? kind.window : length
    const entries = kind.entry * seen + kind.index * length
    const pooled = kind.ratio ? kind.compressed * (length / kind.ratio) : 0n
    return sum + batch * kind.layers * (itemsize * (entries + pooled) + kind.state)
  }, 0n)
  const longest = (row, memory, batch, itemsize) => {
    const fits = length => cache(row, length, batch, itemsize) <= memory
    const grows = kinds(row).some(({ entry, window, index, ratio }) => (entry && !window) || index || ratio)
    const widest = kinds(row).reduce((most, { window }) => (window > most ? window : most), 0n)
    if (!grows && fits(widest)) return null
    let [within, beyond] = [0n, 1n]
    while (fits(beyond)) beyond *= 2n
    while (beyond - within > 1n) {
      const middle = (within + beyond) / 2n
      if (fits(middle)) within = middle
      else beyond = middle
    }
    return within
  }

  const binary = bytes => {
    const power = bytes < 2n ** 20n ? 1 : bytes < 2n ** 30n ? 2 : 3
    return `${(Number(bytes) / 1024 ** power).toFixed(2)} ${["KiB", "MiB", "GiB"][power - 1]}`
  }
  const grouped = number => number.toLocaleString("en-US")
  const show = (name, value, text) => {
    const place = form.querySelector(`data[data-of=${name}]`)
    place.value = value
    place.textContent = text
  }

  const update = () => {
    // browsers let pass what is a hair beside a whole number
    const valid = form.checkValidity() && ["context", "batch", "memory"].map(number).every(Number.isInteger)
    form.querySelector("output").hidden = !valid
    form.querySelector(".kv-invalid").hidden = valid
    if (!valid) return
    const row = models.get(field("model").value)
    const [batch, itemsize, length] = ["batch", "itemsize", "context"].map(whole)
    const bytes = cache(row, length, batch, itemsize)
    show("cache", bytes, `${binary(bytes)} (${grouped(bytes)} ${words.bytes})`)
    const more = cache(row, length + 1n, batch, itemsize) - bytes
    show("more", more, more ? binary(more) : words.nothing)
    const memory = whole("memory") * 2n ** 20n
    const weights = BigInt(row.weights ?? 0)
    show("weights", weights, weights ? binary(weights) : words.unknown)
    const room = memory - weights
    const most = room < 0n ? 0n : longest(row, room, batch, itemsize)
    show("longest", most ?? "", room < 0n ? words.none : most === null ? words.any : grouped(most))
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
