// Package configfile reads the API server's configuration files, within limits of their size and
// nesting.
package configfile
