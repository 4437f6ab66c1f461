package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/spell"
	"minikcm.dev/minikcm/scenarios/spec"
)

//go:embed library
var libraryFiles embed.FS

// Library returns the scenarios that are shipped, by name.
func Library() ([]*Scenario, error) {
	var all []*Scenario
	err := eachOfLibrary(func(file string, data []byte) error {
		found, err := parseShipped(file, data, nil)
		all = append(all, found...)
		return err
	})
	return all, err
}

func eachOfLibrary(do func(file string, data []byte) error) error {
	for _, name := range Names() {
		file := "library/" + name + ".yaml"
		data, err := libraryFiles.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading the scenario library: %w", err)
		}
		if err := do(file, data); err != nil {
			return err
		}
	}
	return nil
}

func parseShipped(file string, data []byte, set map[string]string) ([]*Scenario, error) {
	options := loading(set)
	options.Files = libraryFiles
	return spec.Parse(file, data, options)
}

// Source returns the text of the shipped scenario of that name, with all its comments.
func Source(name string) ([]byte, error) {
	data, err := libraryFiles.ReadFile("library/" + name + ".yaml")
	if err != nil {
		return nil, unknown(name)
	}
	return data, nil
}

// Names are what the shipped scenarios are called.
func Names() []string {
	files, err := fs.Glob(libraryFiles, "library/*.yaml")
	if err != nil {
		return nil // the pattern is good
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".yaml")
	}
	slices.Sort(files)
	return files
}

// unknown returns the error for a name that no shipped scenario has, with a suggestion.
func unknown(name string) error {
	for _, file := range []string{name, name + ".yaml", name + ".yml", name + ".json"} {
		if _, err := os.Stat(file); err == nil && name != "" {
			return fmt.Errorf("there is no scenario %q; to run the file, write ./%s", name, file)
		}
	}
	if meant := spell.Nearest(name, Names()); meant != "" {
		return fmt.Errorf("there is no scenario %q; did you mean %s? A file is named by its path, such as ./%s.yaml", name, meant, name)
	}
	return fmt.Errorf("there is no scenario %q; shipped are %s, and a file is named by its path, such as ./%s.yaml", name, strings.Join(Names(), ", "), name)
}

// Find returns the shipped scenario of that name, or the scenarios of the file, or of
// all files of the folder, of that path. set gives variables their values.
func Find(nameOrPath string, set map[string]string) ([]*Scenario, error) {
	info, err := os.Stat(nameOrPath)
	if !strings.ContainsAny(nameOrPath, "/\\") && path.Ext(nameOrPath) == "" && nameOrPath != "." {
		data, unknown := Source(nameOrPath)
		switch {
		case unknown == nil:
			return parseShipped("library/"+nameOrPath+".yaml", data, set)
		case err != nil || !info.IsDir():
			return nil, unknown
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the scenario: %w", err)
	}
	if !info.IsDir() {
		return Load(nameOrPath, set)
	}
	return loadFolder(nameOrPath, set)
}

// loadFolder reads all scenarios of a folder. It passes over files without scenarios, such as
// the manifests that scenarios apply.
func loadFolder(dir string, set map[string]string) ([]*Scenario, error) {
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		files = append(files, some...)
	}
	slices.Sort(files)
	var all []*Scenario
	var problems error
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the scenario: %w", err)
		}
		if !spec.IsScenario(data) {
			continue
		}
		found, err := Parse(file, data, set)
		problems = errors.Join(problems, err)
		all = append(all, found...)
	}
	switch {
	case problems != nil:
		return nil, problems
	case len(all) == 0:
		return nil, fmt.Errorf("there is no scenario in %s", dir)
	}
	return all, nil
}
