package spec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Reading says how objects are read from a file.
type Reading struct {
	// Template replaces variables in the file.
	Template bool
	// Created says that the objects are created, so that the server may name them.
	Created bool
}

// Objects reports what the objects of a field lack.
func (c *Checker) Objects(field string, objects []Object, created bool) {
	for i := range objects {
		if err := objects[i].Whole(created); err != nil {
			c.ProblemAt(objects[i].Line, fmt.Sprintf("%s[%d]", field, i), "%v", err)
		}
	}
}

// Files reads the objects of a file, or of a folder's files that may hold objects. What is
// wrong within a file is a problem of that file.
func (c *Checker) Files(field, file string, how Reading) []Object {
	d := c.d
	path := d.path(file)
	paths, folder := []string{path}, false
	if entries, err := d.readDir(path); err == nil {
		paths, folder = nil, true
		for _, entry := range entries {
			if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
				paths = append(paths, filepath.Join(path, entry.Name()))
			}
		}
		if len(paths) == 0 {
			c.Problem(field, "there is no .yaml, .yml or .json in the folder %s", path)
		}
	}
	var all []Object
	for _, path := range paths {
		data, err := d.read(path)
		if err != nil {
			c.Check(field, notThere(path, err))
			continue
		}
		all = append(all, d.objects(path, data, how, folder)...)
	}
	return all
}

// Content returns the content of a file, and reports the field if there is no such file.
func (c *Checker) Content(field, file string) []byte {
	path := c.d.path(file)
	data, err := c.d.read(path)
	if err != nil {
		c.Check(field, notThere(path, err))
		return nil
	}
	return data
}

// Kustomization builds a folder with a kustomization, and reads the objects.
func (c *Checker) Kustomization(field, dir string, how Reading) []Object {
	path := c.d.path(dir)
	if c.d.options.Files != nil || c.d.options.Kustomize == nil {
		c.Problem(field, "a kustomization can only be read from the machine's files")
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		c.Check(field, notThere(path, err))
		return nil
	}
	data, err := c.d.options.Kustomize(path)
	if err != nil {
		c.Check(field, err)
		return nil
	}
	return c.d.objects(path, data, how, false)
}

// Objects reads whole objects from YAML or JSON documents. Problems name file.
func Objects(file string, data []byte) ([]Object, error) {
	var problems Problems
	d := &decoder{file: file, problems: &problems}
	objects := d.objects(file, data, Reading{}, false)
	return objects, problems.err()
}

func (d *decoder) readDir(path string) ([]fs.DirEntry, error) {
	if d.options.Files != nil {
		return fs.ReadDir(d.options.Files, filepath.ToSlash(path))
	}
	return os.ReadDir(path)
}

// objects reads objects from another file, which problems name. In a folder, scenarios
// may stand beside the objects, and are passed over.
func (d *decoder) objects(path string, data []byte, how Reading, folder bool) []Object {
	other := *d
	other.file, other.checking, other.lines = path, false, nil
	var all []Object
	for _, document := range other.documents(data) {
		if version := child(document, "apiVersion"); folder && version != nil && version.Value == APIVersion {
			continue
		}
		if how.Template {
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
				other.after().check(some[i].Line, "", some[i].Whole(how.Created))
			}
		}
		all = append(all, some...)
	}
	return all
}

// plainly decodes without replacing variables.
func plainly(d *decoder, node *yaml.Node, into reflect.Value) {
	literal := *d
	literal.literal = true
	literal.decode(node, "", into)
}
