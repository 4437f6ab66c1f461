package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// write writes the markers that differ from what reflection finds. Package openapi
// documents and parses the format.
func (p *pkg) write(w io.Writer) {
	fmt.Fprintf(w, "package %s\n", p.path)
	for _, name := range slices.Sorted(maps.Keys(p.types)) {
		t := p.types[name]
		if t.enum && len(t.values) > 0 {
			fmt.Fprintf(w, "enum %s %s\n", name, strings.Join(quote(t.values), " "))
		}
		lines := t.lines()
		head := "type " + name
		if t.mapType != "" {
			head += " map=" + t.mapType
		}
		if t.union {
			head += " union"
		}
		if t.fallback != "" {
			head += " default=" + t.fallback
		}
		if len(lines) > 0 || head != "type "+name {
			fmt.Fprintln(w, strings.Join(append([]string{head}, lines...), "\n"))
		}
	}
}

func (t *typeMarkers) lines() []string {
	var lines []string
	for _, f := range t.fields {
		line := f.json
		if f.optional {
			line += " optional"
		}
		if f.required {
			line += " required"
		}
		if f.discriminator {
			line += " discriminator"
		}
		if f.list != "" {
			line += " list=" + f.list
		}
		for _, k := range f.keys {
			line += " key=" + k
		}
		if f.mapType != "" {
			line += " map=" + f.mapType
		}
		if f.fallback != "" {
			line += " default=" + f.fallback
		}
		if line != f.json {
			lines = append(lines, "\t"+line)
		}
	}
	return lines
}

// quote quotes enum values that are empty or contain blanks, so that they can be parsed.
func quote(values []string) []string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = v
		if v == "" || strings.Contains(v, " ") {
			quoted[i] = strconv.Quote(v)
		}
	}
	return quoted
}
