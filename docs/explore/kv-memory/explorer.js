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

  // How many numbers are kept of a position: always, and while it is in the window.
  const kept = row => {
    const size = name => BigInt(row[name] ?? 0)
    const heads = 2n * size("num_kv_heads")
    const latent = size("latent_layers") * (size("kv_rank") + size("rope_dim"))
    const full = size("full_layers") - size("shared_full_layers")
    const windowed = size("windowed_layers") - size("shared_windowed_layers")
    return {
      growing: full * heads * size("head_dim") + latent,
      rolling: windowed * heads * BigInt(row.windowed_head_dim ?? row.head_dim ?? 0),
      window: size("window"),
    }
  }
  const cache = (row, length, unit) => {
    const { growing, rolling, window } = kept(row)
    const seen = length < window ? length : window
    return unit * (growing * length + rolling * seen)
  }
  const longest = (row, memory, unit) => {
    const { growing, rolling, window } = kept(row)
    const room = memory / unit
    const within = room / (growing + rolling)
    if (!window || within < window) return within
    return growing ? (room - rolling * window) / growing : null
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
    const unit = whole("batch") * whole("itemsize")
    const length = whole("context")
    const bytes = cache(row, length, unit)
    show("cache", bytes, `${binary(bytes)} (${grouped(bytes)} ${words.bytes})`)
    const more = cache(row, length + 1n, unit) - bytes
    show("more", more, more ? binary(more) : words.nothing)
    const memory = whole("memory") * 2n ** 20n
    const weights = BigInt(row.weights ?? 0)
    show("weights", weights, weights ? binary(weights) : words.unknown)
    const room = memory - weights
    const most = room < 0n ? 0n : longest(row, room, unit)
    show("longest", most ?? "", room < 0n ? words.none : most === null ? words.any : grouped(most))
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
