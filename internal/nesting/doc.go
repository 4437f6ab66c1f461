// Package nesting limits how deep documents from outside are nested, and how much the
// aliases of YAML repeat, before recursive parsers read them.
//
//minikcm:pure
package nesting
