package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platforms are the platforms of .goreleaser.yaml.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// licenceFile matches the files that a licence can demand to be passed on.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents|authors)([-._].*)?$`)

// licenceOnly matches the files of which each module must have one.
var licenceOnly = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-._].*)?$`)

// module is a Go module that is linked.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// linkedPackage holds fields of the output of "go list -json" for a package.
type linkedPackage struct {
	Dir    string
	Module *module
}

// writeLicences writes the licences and notices of the standard library, of all modules that
// are linked on any of the platforms, and of the live page's packages.
func writeLicences(root, out string) error {
	modules, err := linkedModules(root)
	if err != nil {
		return err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	folders := map[string][]string{"go": {strings.TrimSpace(string(goroot))}}
	for _, page := range []string{"preact", "uplot"} {
		folders["npm/"+page] = []string{filepath.Join(root, "ui", "packages", page)}
	}
	for path, dirs := range modules {
		folders[path] = dirs
	}
	var failed []error
	for name, dirs := range folders {
		failed = append(failed, copyLicences(dirs, filepath.Join(out, "licences", filepath.FromSlash(name))))
	}
	return errors.Join(failed...)
}

// linkedModules returns the folders of the modules that are linked: the module's own folder,
// and the folders of linked packages that have a licence file of their own.
func linkedModules(root string) (map[string][]string, error) {
	found := map[string][]string{}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/minikcm")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing what is linked for %s: %w", platform, err)
		}
		for decoder := json.NewDecoder(strings.NewReader(string(text))); ; {
			var p linkedPackage
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("reading what go list prints: %w", err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			real := cmp.Or(p.Module.Replace, p.Module)
			dirs := append(found[p.Module.Path], real.Dir)
			for dir := p.Dir; strings.HasPrefix(dir, real.Dir); dir = filepath.Dir(dir) {
				dirs = append(dirs, dir)
			}
			slices.Sort(dirs)
			found[p.Module.Path] = slices.Compact(dirs)
		}
	}
	return found, nil
}

// copyLicences copies the licence files of folders, the first of which holds the others and
// must have a licence.
func copyLicences(dirs []string, to string) error {
	has := false
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dirs[0], dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			has = has || licenceOnly.MatchString(entry.Name())
			data, err := fs.ReadFile(os.DirFS(dir), entry.Name())
			if err != nil {
				return err
			}
			if err := writeFile(filepath.Join(to, below, entry.Name()), data); err != nil {
				return err
			}
		}
	}
	if !has {
		return fmt.Errorf("%s has no licence file that could be passed on", dirs[0])
	}
	return nil
}
