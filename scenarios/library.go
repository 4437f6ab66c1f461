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

	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/internal/spell"
)

//go:embed library
var libraryFiles embed.FS

//go:embed tours
var tourFiles embed.FS

// The collections of shipped scenarios.
var (
	library = collection{"library", libraryFiles}
	tours   = collection{"tours", tourFiles}
)

// collection is a folder of shipped scenarios, each in a file of its name.
type collection struct {
	folder string
	files  embed.FS
}

func (c collection) path(name string) string { return c.folder + "/" + name + ".yaml" }

func (c collection) parse(name string, set map[string]string) ([]*Scenario, error) {
	data, err := c.files.ReadFile(c.path(name))
	if err != nil {
		return nil, fmt.Errorf("reading the shipped scenarios: %w", err)
	}
	options := loading(set)
	options.Files = c.files
	return spec.Parse(c.path(name), data, options)
}

func (c collection) all() ([]*Scenario, error) {
	var all []*Scenario
	for _, name := range c.names() {
		found, err := c.parse(name, nil)
		if err != nil {
			return all, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (c collection) names() []string {
	files, err := fs.Glob(c.files, c.folder+"/*.yaml")
	if err != nil {
		return nil // the pattern is good
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".yaml")
	}
	slices.Sort(files)
	return files
}

// Library returns the scenarios that are shipped, by name.
func Library() ([]*Scenario, error) { return library.all() }

// Names returns the names of the shipped scenarios.
func Names() []string { return library.names() }

// Source returns the text of the shipped scenario of that name, with all its comments.
func Source(name string) ([]byte, error) {
	data, err := libraryFiles.ReadFile(library.path(name))
	if err != nil {
		return nil, unknown(name)
	}
	return data, nil
}

// Tours returns the guided tours: scenarios whose steps have a text for an audience. Some of
// them are in the Library, too.
func Tours() ([]*Scenario, error) {
	all, err := tours.all()
	if err != nil {
		return nil, err
	}
	shipped, err := library.all()
	if err != nil {
		return nil, err
	}
	return append(all, slices.DeleteFunc(shipped, func(s *Scenario) bool { return !speaks(s) })...), nil
}

// speaks reports whether a step of the scenario has a text for an audience.
func speaks(s *Scenario) bool {
	return slices.ContainsFunc(s.Spec.Steps, func(step spec.Step) bool { return step.Say != "" })
}

// Tour returns the guided tour of that name. set gives variables their values.
func Tour(name string, set map[string]string) (*Scenario, error) {
	all, err := Tours()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		if s.Metadata.Name == name {
			return tourWith(s, set)
		}
		names = append(names, s.Metadata.Name)
	}
	if i := slices.IndexFunc(all, func(s *Scenario) bool { return slices.Contains(Examples(s), name) }); i >= 0 {
		return nil, fmt.Errorf("there is no tour %q; the tour that runs the example is %s", name, names[i])
	}
	if meant := spell.Nearest(name, names); meant != "" {
		return nil, fmt.Errorf("there is no tour %q; did you mean %s?", name, meant)
	}
	return nil, fmt.Errorf("there is no tour %q; there are %s", name, strings.Join(names, ", "))
}

// tourWith returns a tour with these values of its variables.
func tourWith(tour *Scenario, set map[string]string) (*Scenario, error) {
	if len(set) == 0 {
		return tour, nil
	}
	name, from := tour.Metadata.Name, library
	if tour.File == tours.path(name) {
		from = tours
	}
	found, err := from.parse(name, set)
	if err != nil {
		return nil, err
	}
	return found[0], nil
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
		_, unknown := Source(nameOrPath)
		switch {
		case unknown == nil:
			return library.parse(nameOrPath, set)
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
