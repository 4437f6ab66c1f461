package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed library/*.yaml
var libraryFiles embed.FS

// Library returns the scenarios that are shipped, by name.
func Library() ([]*Scenario, error) {
	files, err := fs.Glob(libraryFiles, "library/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the scenario library: %w", err)
	}
	var all []*Scenario
	for _, file := range files {
		data, err := libraryFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the scenario library: %w", err)
		}
		found, err := Parse(file, data)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Find returns the shipped scenario of that name, or the scenarios of the file of
// that path.
func Find(nameOrFile string) ([]*Scenario, error) {
	if strings.ContainsAny(nameOrFile, "/\\") || path.Ext(nameOrFile) != "" {
		return Load(nameOrFile)
	}
	all, err := Library()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		if s.Metadata.Name == nameOrFile {
			return []*Scenario{s}, nil
		}
		names = append(names, s.Metadata.Name)
	}
	return nil, fmt.Errorf("there is no scenario %q; shipped are %s, and a file is named by its path, such as ./%s.yaml", nameOrFile, strings.Join(names, ", "), nameOrFile)
}
