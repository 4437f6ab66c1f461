package format

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func (d *decoder) checkApply(a *Apply, line int, field string) {
	if len(a.Objects)+len(a.Files)+len(a.Kustomize) == 0 {
		d.problem(line, field, "needs objects, files or kustomize")
	}
	for i := range a.Objects {
		d.check(a.Objects[i].Line, fmt.Sprintf("%s.objects[%d]", field, i), a.Objects[i].whole(a.created))
	}
	a.fromFiles = nil
	for i, file := range a.Files {
		d.readFiles(a, file, line, fmt.Sprintf("%s.files[%d]", field, i))
	}
	for i, dir := range a.Kustomize {
		d.readKustomization(a, dir, line, fmt.Sprintf("%s.kustomize[%d]", field, i))
	}
	for _, objects := range [][]Object{a.Objects, a.fromFiles} {
		for i := range objects {
			if objects[i].Object != nil && objects[i].GetNamespace() == "" && a.Namespace != "" {
				objects[i].SetNamespace(a.Namespace)
			}
		}
	}
}

// readFiles reads a file, or all of a folder that look like objects.
func (d *decoder) readFiles(a *Apply, file string, line int, field string) {
	path := d.path(file)
	paths := []string{path}
	how := reading{template: a.Template, created: a.created}
	if entries, err := d.readDir(path); err == nil {
		paths, how.folder = nil, true
		for _, entry := range entries {
			if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
				paths = append(paths, filepath.Join(path, entry.Name()))
			}
		}
		if len(paths) == 0 {
			d.problem(line, field, "there is no .yaml, .yml or .json in the folder %s", path)
		}
	}
	for _, path := range paths {
		data, err := d.read(path)
		if err != nil {
			d.check(line, field, notThere(path, err))
			continue
		}
		a.fromFiles = append(a.fromFiles, d.objects(path, data, how)...)
	}
}

func (d *decoder) readDir(path string) ([]fs.DirEntry, error) {
	if d.options.Files != nil {
		return fs.ReadDir(d.options.Files, filepath.ToSlash(path))
	}
	return os.ReadDir(path)
}

// reading is how objects are read from a file: with variables replaced, to be created, and
// because the file is in a folder, where scenarios may stand beside them.
type reading struct{ template, created, folder bool }

// objects reads objects from another file; problems name that one.
func (d *decoder) objects(path string, data []byte, how reading) []Object {
	other := *d
	other.file, other.checking, other.lines = path, false, nil
	var all []Object
	for _, document := range other.documents(data) {
		if version := child(document, "apiVersion"); how.folder && version != nil && version.Value == APIVersion {
			continue
		}
		if how.template {
			document = other.replaceAll(document, "")
		}
		items := document
		if kindOf(document) == "List" {
			items = child(document, "items")
		}
		var some []Object
		if items == document {
			some = make([]Object, 1)
			plainly(&other, document, reflect.ValueOf(&some[0]).Elem())
		} else if items != nil {
			plainly(&other, items, reflect.ValueOf(&some).Elem())
		}
		for i := range some {
			if some[i].Object != nil {
				other.after().check(some[i].Line, "", some[i].whole(how.created))
			}
		}
		all = append(all, some...)
	}
	return all
}

// Objects reads whole objects from YAML or JSON documents; file is for messages.
func Objects(file string, data []byte) ([]Object, error) {
	var problems Problems
	d := &decoder{file: file, problems: &problems}
	objects := d.objects(file, data, reading{})
	return objects, problems.err()
}

// plainly decodes without replacing anything.
func plainly(d *decoder, node *yaml.Node, into reflect.Value) {
	literal := *d
	literal.literal = true
	literal.decode(node, "", into)
}

func (d *decoder) readKustomization(a *Apply, dir string, line int, field string) {
	path := d.path(dir)
	if d.options.Files != nil {
		d.problem(line, field, "a kustomization can only be read from the machine's files")
		return
	}
	if _, err := os.Stat(path); err != nil {
		d.check(line, field, notThere(path, err))
		return
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		d.problem(line, field, "building the kustomization: %v", err)
		return
	}
	data, err := built.AsYaml()
	if err != nil {
		d.problem(line, field, "writing down what the kustomization gives: %v", err)
		return
	}
	a.fromFiles = append(a.fromFiles, d.objects(path, data, reading{created: a.created})...)
}
