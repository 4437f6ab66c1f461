// Package shelltree parses shell scripts to the syntax trees of mvdan.cc/sh/v3/syntax, within limits that
// hold for any text: its length, how deep it nests, and how many words its braces stand for. Everything that
// parses a script does so with this package.
//
//minikcm:pure
package shelltree
