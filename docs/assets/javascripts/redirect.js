"use strict"
const link = document.getElementById("redirect")
if (location.hash) link.hash = location.hash // else that of the new address, if it has one
location.replace(link.href)
