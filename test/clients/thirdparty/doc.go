// Package thirdparty tests operators of other projects on a built minikcm. They are ordinary
// requirements of the module, and run as they are; docs/compatibility.md lists them. MINIKCM names
// the binary.
package thirdparty
