"use strict"
location.replace(Object.assign(document.getElementById("redirect"), { hash: location.hash }).href)
