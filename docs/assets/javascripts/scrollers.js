// What scrolls sideways can be reached with the keyboard; what does not is no tab stop.
(() => {
  "use strict"

  const mark = () => {
    const boxes = [...document.querySelectorAll(".md-typeset__scrollwrap, pre > code, div.formula")]
    // first measure all, then change them: in turns, each change would have the page laid out again
    const scrolls = boxes.map(box => box.scrollWidth > box.clientWidth)
    boxes.forEach((box, i) => {
      if (scrolls[i]) box.tabIndex = 0
      else box.removeAttribute("tabindex")
    })
  }
  for (const type of ["load", "resize"]) addEventListener(type, mark)
})()
