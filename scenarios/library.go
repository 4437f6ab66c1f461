package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"minikcm.dev/minikcm/scenarios/format"
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
	files, err := fs.Glob(libraryFiles, "library/*.yaml")
	if err != nil {
		return fmt.Errorf("listing the scenario library: %w", err)
	}
	for _, file := range files {
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
	return format.Parse(file, data, options)
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
	return files
}

func unknown(name string) error {
	return fmt.Errorf("there is no scenario %q; shipped are %s, and a file is named by its path, such as ./%s.yaml", name, strings.Join(Names(), ", "), name)
}

// Find returns the shipped scenario of that name, or the scenarios of the file, or of
// all files of the folder, of that path. set gives variables their values.
func Find(nameOrPath string, set map[string]string) ([]*Scenario, error) {
	if !strings.ContainsAny(nameOrPath, "/\\") && path.Ext(nameOrPath) == "" && nameOrPath != "." {
		data, err := Source(nameOrPath)
		if err != nil {
			return nil, err
		}
		return parseShipped("library/"+nameOrPath+".yaml", data, set)
	}
	info, err := os.Stat(nameOrPath)
	if err != nil {
		return nil, fmt.Errorf("reading the scenario: %w", err)
	}
	if !info.IsDir() {
		return Load(nameOrPath, set)
	}
	return loadFolder(nameOrPath, set)
}

func loadFolder(dir string, set map[string]string) ([]*Scenario, error) {
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		files = append(files, some...)
	}
	slices.Sort(files)
	var all []*Scenario
	for _, file := range files {
		found, err := Load(file, set)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no scenario in %s", dir)
	}
	return all, nil
}
