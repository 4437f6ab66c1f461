// Package thirdparty runs programs of other projects on a built minikcm, as their users do. Each
// folder is a module that requires one project, and tests it as it is; docs/compatibility.md lists
// them. MINIKCM names the binary. The programs listen on the ports that their projects chose, so
// "make thirdparty" runs one folder at a time.
package thirdparty
