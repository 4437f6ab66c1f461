package bundle

import "embed"

// Files has index.html and the files that it refers to.
//
//go:embed index.html icon.svg page.js page.css tours.json worker.js
var Files embed.FS
