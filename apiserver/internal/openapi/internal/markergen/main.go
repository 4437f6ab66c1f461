// Command markergen parses the marker comments of k8s.io/api, which reflection cannot
// see, and writes those that affect OpenAPI schemas as the table that package openapi
// embeds. It reads the version of k8s.io/api that go.mod selects.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "k8s.io/api"

func main() {
	out := flag.String("out", "markers.txt", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		log.Fatal(err)
	}
}

func run(out string) error {
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", module).Output()
	if err != nil {
		return fmt.Errorf("finding module %s: %w", module, err)
	}
	dir, version, ok := strings.Cut(strings.TrimSpace(string(listed)), " ")
	if !ok {
		return fmt.Errorf("finding module %s: go list said %q", module, listed)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by markergen from %s %s; do not edit.\n", module, version)
	dirs, err := packageDirs(dir)
	if err != nil {
		return err
	}
	all := map[string]*pkg{}
	for _, d := range dirs {
		p, err := parsePackage(filepath.Join(dir, d), path.Join(module, d))
		if err != nil {
			return err
		}
		all[p.path] = p
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].resolve(all); err != nil {
			return err
		}
		all[name].write(&b)
	}
	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the markers: %w", err)
	}
	return nil
}

// packageDirs returns the folders with API types, relative to the module's.
func packageDirs(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "zz_generated.model_name.go" {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		dirs = append(dirs, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for API packages in %s: %w", root, err)
	}
	slices.Sort(dirs)
	return dirs, nil
}
