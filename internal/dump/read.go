package dump

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of a dump. A cluster of 10,000 pods is about 150 MB of YAML.
const (
	MaxBytes   = 1 << 30
	MaxObjects = 200_000
	MaxDepth   = 100
	MaxFiles   = 20_000
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// Read reads dumps from files and, recursively, from folders in the order of their names: YAML
// documents or JSON values that are objects or lists. The path Stdin reads from in. In a
// folder, only .yaml, .yml and .json files are read, except kustomizations.
func Read(paths []string, in io.Reader) (*Dump, error) {
	r := &reader{dump: &Dump{}, in: in}
	for _, path := range paths {
		r.dump.Sources = append(r.dump.Sources, sourceOf(path))
		if err := r.path(path); err != nil {
			return nil, err
		}
	}
	if len(r.dump.objects) == 0 {
		return nil, fmt.Errorf("%s contains no objects in .yaml, .yml or .json files: write a dump with \"kubectl get all,configmaps,secrets -A -o yaml\"", joined(paths))
	}
	return r.dump, nil
}

// sourceOf names a path in messages.
func sourceOf(path string) string {
	if path == Stdin {
		return "standard input"
	}
	return path
}

// reader reads files up to the limits.
type reader struct {
	dump         *Dump
	in           io.Reader
	files, bytes int
}

func (r *reader) path(path string) error {
	if path == Stdin {
		return r.decode(sourceOf(path), r.in)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading a dump: the file or folder %s does not exist", path)
	case err != nil:
		return fmt.Errorf("reading a dump: %w", err)
	case !info.IsDir():
		return r.file(path)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // WalkDir follows none
		return fmt.Errorf("reading a dump: %w", err)
	}
	return filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the folder of a dump: %w", err)
		}
		if !entry.Type().IsRegular() || !isManifest(path) {
			return nil
		}
		return r.file(path)
	})
}

// isManifest reports whether a file in a folder contains objects. A kustomization is none.
func isManifest(path string) bool {
	extension := filepath.Ext(path)
	return slices.Contains([]string{".yaml", ".yml", ".json"}, extension) && strings.TrimSuffix(filepath.Base(path), extension) != "kustomization"
}

func (r *reader) file(path string) (err error) {
	if r.files++; r.files > MaxFiles {
		return fmt.Errorf("reading a dump: more than %d files", MaxFiles)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading a dump: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.decode(path, f)
}

func (r *reader) decode(name string, from io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(from, int64(MaxBytes-r.bytes)+1))
	if err != nil {
		return fmt.Errorf("reading the dump %s: %w", name, err)
	}
	if r.bytes += len(data); r.bytes > MaxBytes {
		return fmt.Errorf("reading the dump %s: larger than %d MiB; leave out kinds that are not needed, such as events", name, MaxBytes>>20)
	}
	objects, err := Decode(data, MaxObjects-len(r.dump.objects))
	if err != nil {
		return fmt.Errorf("reading the dump %s: %w", name, err)
	}
	r.dump.objects = append(r.dump.objects, objects...)
	return nil
}
