package spec

import (
	"maps"
	"slices"
	"strings"
)

// include reads the steps of another file.
func (d *decoder) include(file string, vars map[string]string, line int, field string) (steps []Step) {
	if file == "" {
		d.problem(line, field, "is missing: name the file with the steps")
		return nil
	}
	path := d.path(file)
	if slices.Contains(d.including, path) {
		d.problem(line, field, "%s includes itself: %s", path, chain(append(d.including, path)))
		return nil
	}
	data, err := d.read(path)
	if err != nil {
		d.check(line, field, notThere(path, err))
		return nil
	}
	other := *d
	other.file, other.checking, other.lines = path, false, nil
	other.including = append(slices.Clone(d.including), path)
	for _, document := range other.documents(data) {
		if kindOf(document) != KindSteps {
			other.problem(document.Line, "kind", "is %q, but what is included must be %s", kindOf(document), KindSteps)
			continue
		}
		declared := map[string]bool{}
		if node := child(document, "spec", "vars"); node != nil {
			for i := 0; i+1 < len(node.Content); i += 2 {
				declared[node.Content[i].Value] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			if !declared[name] {
				d.problem(line, field, "%s has no variable %s; %s", path, name, DidYouMean(name, slices.Sorted(maps.Keys(declared))))
			}
		}
		steps = append(steps, other.stepsDocument(document, vars)...)
	}
	return steps
}

// chain shows how files include each other.
func chain(files []string) string { return strings.Join(files, " -> ") }
