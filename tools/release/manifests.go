package main

import (
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"
)

// templates of the files that package managers read.
//
//go:embed templates
var templates embed.FS

// manifests are the files that package managers read. A manager that needs an archive of a
// platform that was not built gets no file.
var manifests = []struct {
	template, path string
	needs          []string
}{
	{"homebrew.rb", "homebrew/minikcm.rb", []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}},
	{"scoop.json", "scoop/minikcm.json", []string{"windows/amd64", "windows/arm64"}},
	{"krew.yaml", "krew/minikcm.yaml", platforms},
}

// writeManifests writes the Homebrew formula and the manifests for Scoop and Krew.
func (r *release) writeManifests(archives []archive) error {
	parsed, err := template.New("").Option("missingkey=error").ParseFS(templates, "templates/*")
	if err != nil {
		return err
	}
	built := map[string]archive{}
	for _, a := range archives {
		built[a.os+"/"+a.arch] = a
	}
	var failed []error
	for _, m := range manifests {
		complete := true
		for _, platform := range m.needs {
			complete = complete && built[platform].name != ""
		}
		if !complete {
			continue
		}
		if r.url == "" {
			failed = append(failed, fmt.Errorf("%s needs the address of the archives: give it with -url", m.path))
			continue
		}
		var b strings.Builder
		data := map[string]any{
			"Version": r.version,
			"URL":     func(platform string) string { return strings.TrimSuffix(r.url, "/") + "/" + built[platform].name },
			"SHA256":  func(platform string) string { return built[platform].sha256 },
			"OS":      func(platform string) string { return built[platform].os },
			"Arch":    func(platform string) string { return built[platform].arch },
			"All":     platforms,
		}
		if err := parsed.ExecuteTemplate(&b, m.template, data); err != nil {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, writeFile(filepath.Join(r.dist, filepath.FromSlash(m.path)), []byte(b.String())))
	}
	return errors.Join(failed...)
}
