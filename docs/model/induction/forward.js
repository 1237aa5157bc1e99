// The trained model of model/induction in plain JavaScript: its weights, half-precision numbers in
// base64, and its forward pass. Checked against PyTorch in a browser by tests/model.
window.attnInduction = (() => {
  "use strict"
  const SYMBOLS = "abcdefghijklmnopqrstuvwxyz .,!?-"
  const [CONTEXT, DIM, LAYERS, THETA, EPSILON] = [32, 64, 2, 10000, 1e-5]

  // Half precision: one bit of sign, five of the exponent, ten of the fraction
  const half = bits => {
    const [exponent, fraction] = [bits >> 10 & 31, bits & 1023]
    const size = exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction
    return bits >> 15 ? -size : size
  }

  // The matrices in the order of the module's state: rows are what comes out, columns what goes in.
  const read = base64 => {
    const bytes = atob(base64)
    let place = 0
    const next = (rows, columns) => Array.from({ length: rows }, () =>
      Float64Array.from({ length: columns }, () => {
        const bits = bytes.charCodeAt(place) | bytes.charCodeAt(place + 1) << 8
        place += 2
        return half(bits)
      }))
    const norm = () => ({ weight: next(1, DIM)[0], bias: next(1, DIM)[0] })
    const square = () => next(DIM, DIM)
    const block = () =>
      ({ q: square(), k: square(), v: square(), out: square(), norm: norm() })
    const embedding = next(SYMBOLS.length, DIM)
    const blocks = Array.from({ length: LAYERS }, block)
    const model = { embedding, blocks, norm: norm(), output: next(SYMBOLS.length, DIM) }
    if (place !== bytes.length) throw new RangeError(`${bytes.length} bytes are not this model`)
    return model
  }

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0)
  const times = (matrix, x) => Float64Array.from(matrix, row => dot(row, x))
  const add = (a, b) => a.map((x, i) => x + b[i])

  const normalised = ({ weight, bias }, x) => {
    const mean = x.reduce((sum, number) => sum + number, 0) / DIM
    const centred = x.map(number => number - mean)
    const spread = Math.sqrt(dot(centred, centred) / DIM + EPSILON)
    return centred.map((number, i) => number / spread * weight[i] + bias[i])
  }

  // Rotary positions: element i and element i + DIM / 2 are a pair, rotated by its own angle.
  const rotated = (x, position) => x.map((number, i) => {
    const pair = i % (DIM / 2)
    const angle = position * THETA ** (-2 * pair / DIM)
    const other = i < DIM / 2 ? -x[i + DIM / 2] : x[pair]
    return number * Math.cos(angle) + other * Math.sin(angle)
  })

  const softmax = scores => {
    const most = Math.max(...scores)
    const powers = scores.map(score => Math.exp(score - most))
    const sum = powers.reduce((total, power) => total + power, 0)
    return powers.map(power => power / sum)
  }

  // Attention of one head: each query sees the keys up to its own place.
  const attend = (block, stream) => {
    const rows = stream.map(x => normalised(block.norm, x))
    const queries = rows.map((x, i) => rotated(times(block.q, x), i))
    const keys = rows.map((x, i) => rotated(times(block.k, x), i))
    const values = rows.map(x => times(block.v, x))
    const weights = queries.map((query, i) =>
      softmax(keys.slice(0, i + 1).map(key => dot(query, key) / Math.sqrt(DIM))))
    const mixed = weights.map(row =>
      row.reduce((sum, w, j) => add(sum, values[j].map(x => w * x)), new Float64Array(DIM)))
    return { weights, output: mixed.map(x => times(block.out, x)) }
  }

  // For each token, where both layers look and how likely each symbol is next. A layer whose head is
  // off still looks, and adds nothing.
  const run = (model, tokens, on) => {
    let stream = tokens.map(token => model.embedding[token])
    const maps = model.blocks.map((block, layer) => {
      const { weights, output } = attend(block, stream)
      if (on[layer]) stream = stream.map((x, i) => add(x, output[i]))
      return weights
    })
    const logits = stream.map(x => times(model.output, normalised(model.norm, x)))
    return { maps, probabilities: logits.map(softmax) }
  }

  return { SYMBOLS, CONTEXT, read, run }
})()
