package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// npmScope is the scope of the packages with the programs.
const npmScope = "@minikcm/"

// npmNames are node's names of operating systems and processors, where they differ.
var npmNames = map[string]string{"windows": "win32", "amd64": "x64"}

func npmName(name string) string {
	if other := npmNames[name]; other != "" {
		return other
	}
	return name
}

// npmPackage is a package.json.
type npmPackage struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	Homepage             string            `json:"homepage"`
	License              string            `json:"license"`
	Bin                  map[string]string `json:"bin,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

func (r *release) npmPackage(name string) npmPackage {
	return npmPackage{
		Name: name, Version: r.version, License: "Apache-2.0", Homepage: "https://minikcm.dev/minikcm",
		Description: "A whole Kubernetes control loop in one process, with simulated nodes and time",
	}
}

// writeNPM writes one package with the program for each platform, and the package minikcm, of
// which they are optional dependencies: npm installs only the one for its machine.
func (r *release) writeNPM(archives []archive) error {
	launcher, err := os.ReadFile(filepath.Join(r.root, "packaging", "npm", "minikcm.js"))
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(r.root, "packaging", "npm", "README.md"))
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	licences, err := r.licences()
	if err != nil {
		return err
	}
	main := r.npmPackage("minikcm")
	main.Bin = map[string]string{"minikcm": "bin/minikcm.js"}
	main.Engines = map[string]string{"node": ">=18"}
	main.OptionalDependencies = map[string]string{}
	var failed []error
	for i := range archives {
		a := &archives[i]
		p := r.npmPackage(npmScope + npmName(a.os) + "-" + npmName(a.arch))
		p.OS, p.CPU, p.PreferUnplugged = []string{npmName(a.os)}, []string{npmName(a.arch)}, true
		main.OptionalDependencies[p.Name] = r.version
		entries := append([]entry{{name: "package/LICENSE", mode: 0o644, data: licence}, {name: "package/bin/" + a.programName(), mode: 0o755, data: a.program}}, licences...)
		failed = append(failed, r.writeTarball(p, "minikcm-"+npmName(a.os)+"-"+npmName(a.arch), entries))
	}
	failed = append(failed, r.writeTarball(main, "minikcm", []entry{
		{name: "package/LICENSE", mode: 0o644, data: licence},
		{name: "package/README.md", mode: 0o644, data: readme},
		{name: "package/bin/minikcm.js", mode: 0o755, data: launcher},
	}))
	return errors.Join(failed...)
}

// writeTarball writes a package as "npm pack" does.
func (r *release) writeTarball(p npmPackage, name string, entries []entry) error {
	description, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	plain, err := r.tarOf(append([]entry{{name: "package/package.json", mode: 0o644, data: append(description, '\n')}}, entries...))
	if err != nil {
		return err
	}
	data, err := compress(plain)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(r.dist, "npm", name+"-"+r.version+".tgz"), data)
}

// licences returns the licences that prepare has written, as files of an npm package.
func (r *release) licences() ([]entry, error) {
	from := filepath.Join(r.root, "bin", "release", "files", "licences")
	var entries []entry
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{name: "package/licences/" + filepath.ToSlash(below), mode: 0o644, data: data})
		return err
	})
	return entries, err
}
