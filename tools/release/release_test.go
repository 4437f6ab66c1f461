package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// program stands for minikcm in the archives.
const program = "#!/bin/sh\necho \"$0 runs with: $*\"\nexit 7\n"

// fakeRelease returns a release whose archives have a script in place of the program.
func fakeRelease(t *testing.T) *release {
	t.Helper()
	root := t.TempDir()
	r := &release{root: root, dist: filepath.Join(root, "dist"), version: "1.2.3", url: "https://example.test/v1.2.3/", time: time.Unix(1_700_000_000, 0).UTC()}
	for _, name := range []string{"LICENSE", "packaging/npm/minikcm.js", "packaging/npm/README.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, filepath.FromSlash(name)), data)
	}
	write(t, filepath.Join(root, "bin", "release", "files", "licences", "example.test", "m", "LICENSE"), []byte("a licence\n"))
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		name := filepath.Join(r.dist, "minikcm_1.2.3_"+goos+"_"+goarch)
		if goos == "windows" {
			write(t, name+".zip", zipOf(t, "minikcm.exe", program))
			continue
		}
		plain, err := r.tarOf([]entry{{name: "LICENSE", mode: 0o644}, {name: "minikcm", mode: 0o755, data: []byte(program)}})
		if err != nil {
			t.Fatal(err)
		}
		data, err := compress(plain)
		if err != nil {
			t.Fatal(err)
		}
		write(t, name+".tar.gz", data)
	}
	return r
}

func zipOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	file, err := out.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := writeFile(path, data); err != nil {
		t.Fatal(err)
	}
}

// TestPackagesAreReproducible makes all packages twice and compares their sums.
func TestPackagesAreReproducible(t *testing.T) {
	var sums [2]string
	for i := range sums {
		r := fakeRelease(t)
		if err := packageAll(r); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(r.dist, packageSums))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(data)
	}
	if sums[0] != sums[1] {
		t.Errorf("the sums of two builds are\n%s\nand\n%s", sums[0], sums[1])
	}
	if n := strings.Count(sums[0], "\n"); n != 3+len(platforms)+1+1 {
		t.Errorf("%d packages:\n%s", n, sums[0])
	}
}

func TestManifests(t *testing.T) {
	r := fakeRelease(t)
	archives, err := r.archives()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeManifests(archives); err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		data, err := os.ReadFile(filepath.Join(r.dist, filepath.FromSlash(m.path)))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range archives {
			needed := strings.Contains(strings.Join(m.needs, " "), a.os+"/"+a.arch)
			if has := strings.Contains(string(data), "https://example.test/v1.2.3/"+a.name) && strings.Contains(string(data), a.sha256); has != needed {
				t.Errorf("%s has the archive for %s/%s: %v, want %v\n%s", m.path, a.os, a.arch, has, needed, data)
			}
		}
		if filepath.Ext(m.path) == ".json" && !json.Valid(data) {
			t.Errorf("%s is not JSON:\n%s", m.path, data)
		}
	}
	if err := r.writeManifests(archives[:1]); err != nil {
		t.Errorf("a build for one platform has no manifests, and is no error: %v", err)
	}
	r.url = ""
	if err := r.writeManifests(archives); err == nil {
		t.Error("manifests without the address of the archives are made")
	}
}

// TestImage checks the layout as tools that load images do, and what the image runs.
func TestImage(t *testing.T) {
	r := fakeRelease(t)
	archives, err := r.archives()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeImage(archives); err != nil {
		t.Fatal(err)
	}
	outer, err := layout.ImageIndexFromPath(filepath.Join(r.dist, "image"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Fatal(err)
	}
	named, err := outer.IndexManifest()
	if err != nil || len(named.Manifests) != 1 {
		t.Fatalf("the layout has %v, %v", named, err)
	}
	index, err := outer.ImageIndex(named.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range manifest.Manifests {
		found = append(found, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		checkConfig(t, config)
	}
	if got := strings.Join(found, " "); got != "linux/amd64 linux/arm64" {
		t.Errorf("the image is for %s", got)
	}
}

func checkConfig(t *testing.T, config *v1.ConfigFile) {
	t.Helper()
	if config.OS != "linux" || config.Config.User != "65532:65532" || strings.Join(append(config.Config.Entrypoint, config.Config.Cmd...), " ") != "/usr/bin/minikcm up" || len(config.RootFS.DiffIDs) != 2 {
		t.Errorf("the image's configuration is %+v", config)
	}
}

func TestManPage(t *testing.T) {
	const help = `Move the clock. See .profile.

  1m   a minute

Usage:
  minikcm clock advance DURATION [flags]

Examples:
  minikcm clock advance 24h

Flags:
  -h, --help   help for advance

Use "minikcm clock [command] --help" for more information about a command.
`
	const want = `.TH "MINIKCM-CLOCK-ADVANCE" 1 "2026-11-28" minikcm minikcm
.SH NAME
minikcm\-clock\-advance \- move the clock by a duration
.SH SYNOPSIS
.nf
minikcm clock advance DURATION [flags]
.fi
.SH DESCRIPTION
.PP
Move the clock. See .profile.
.PP
.nf
  1m   a minute
.fi
.nf
.fi
.SH EXAMPLES
.nf
minikcm clock advance 24h
.fi
.SH FLAGS
.nf
\-h, \-\-help   help for advance
.fi
.SH SEE ALSO
minikcm\-clock(1)
`
	seeAlso := related("minikcm clock advance", []string{"minikcm", "minikcm clock", "minikcm clock advance", "minikcm clock step"})
	if got := manPage("minikcm clock advance", "Move the clock by a duration", help, seeAlso, time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)); got != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
}

// TestManPages makes the pages of the real help, and lets man check them where it is installed.
func TestManPages(t *testing.T) {
	out := t.TempDir()
	if err := writeManPages(filepath.Join("..", ".."), out, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	pages, err := fs.Glob(os.DirFS(out), "man/man1/*.1")
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), " \\- \n") {
			t.Errorf("%s has no summary", page)
		}
	}
	man, err := exec.LookPath("man")
	if err != nil {
		return
	}
	cmd := exec.Command(man, "--warnings", "-l", filepath.Join(out, "man", "man1", "minikcm-up.1"))
	cmd.Env = append(os.Environ(), "MANWIDTH=200", "LC_ALL=C.UTF-8")
	var warnings bytes.Buffer
	cmd.Stderr = &warnings
	if text, err := cmd.Output(); err != nil || !strings.Contains(string(text), "--nodes") || warnings.Len() > 0 {
		t.Errorf("man ends with %v, %s and prints\n%s", err, warnings.String(), text)
	}
}
