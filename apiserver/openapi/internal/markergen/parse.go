package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// pkg has the markers of one package.
type pkg struct {
	path   string
	types  map[string]*typeMarkers
	consts map[string]constant
}

type typeMarkers struct {
	enum     bool
	values   []string
	fallback string // the JSON of a +default on a type that is not a struct
	mapType  string
	union    bool
	fields   []fieldMarkers
}

type fieldMarkers struct {
	json string
	// optional and required report whether the field may be omitted, if that differs
	// from what omitempty implies.
	optional, required bool
	discriminator      bool
	list, mapType      string
	keys               []string
	fallback           string
}

type constant struct {
	typeName, value string // the value is a Go literal
}

func parsePackage(dir, path string) (*pkg, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", path, err)
	}
	p := &pkg{path: path, types: map[string]*typeMarkers{}, consts: map[string]constant{}}
	fset := token.NewFileSet()
	for _, name := range files {
		if base := filepath.Base(name); strings.HasSuffix(base, "_test.go") || strings.Contains(base, "generated") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", path, err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				p.add(g)
			}
		}
	}
	return p, p.resolve()
}

func (p *pkg) add(g *ast.GenDecl) {
	for _, s := range g.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = g.Doc
			}
			p.addType(s, markers(doc))
		case *ast.ValueSpec:
			t, ok := s.Type.(*ast.Ident)
			if g.Tok != token.CONST || !ok {
				continue
			}
			for i, n := range s.Names {
				if l, ok := s.Values[i].(*ast.BasicLit); ok {
					p.consts[n.Name] = constant{t.Name, l.Value}
				}
			}
		}
	}
}

func (p *pkg) addType(s *ast.TypeSpec, m map[string][]string) {
	t := &typeMarkers{
		enum:     has(m, "enum"),
		fallback: first(m, "default"),
		mapType:  first(m, "structType") + first(m, "mapType"),
		union:    has(m, "union"),
	}
	p.types[s.Name.Name] = t
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range st.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		t.fields = append(t.fields, newField(name, slices.Contains(strings.Split(options, ","), "omitempty"), markers(f.Doc)))
	}
}

func newField(name string, omitempty bool, m map[string][]string) fieldMarkers {
	return fieldMarkers{
		json:          name,
		optional:      has(m, "optional") && !omitempty,
		required:      has(m, "required") && omitempty,
		discriminator: has(m, "unionDiscriminator"),
		list:          first(m, "listType"),
		mapType:       first(m, "structType") + first(m, "mapType"),
		keys:          m["listMapKey"],
		fallback:      first(m, "default"),
	}
}

// resolve collects the values of enums, and replaces references to constants.
func (p *pkg) resolve() error {
	for _, c := range p.consts {
		if t := p.types[c.typeName]; t != nil && t.enum {
			v, err := strconv.Unquote(c.value)
			if err != nil {
				return fmt.Errorf("enum %s.%s: %w", p.path, c.typeName, err)
			}
			t.values = append(t.values, v)
		}
	}
	for name, t := range p.types {
		slices.Sort(t.values)
		t.values = slices.Compact(t.values)
		if err := p.deref(&t.fallback); err != nil {
			return fmt.Errorf("%s.%s: %w", p.path, name, err)
		}
		for i := range t.fields {
			if err := p.deref(&t.fields[i].fallback); err != nil {
				return fmt.Errorf("%s.%s.%s: %w", p.path, name, t.fields[i].json, err)
			}
		}
	}
	return nil
}

// deref replaces "ref(Name)" by the constant's value.
func (p *pkg) deref(value *string) error {
	ref, ok := strings.CutPrefix(*value, "ref(")
	if !ok {
		return nil
	}
	name := strings.TrimSuffix(ref, ")")
	c, ok := p.consts[name]
	if !ok {
		return fmt.Errorf("default refers to the unknown constant %q", name)
	}
	*value = c.value
	return nil
}

// markers returns the lines "+name" and "+name=value" of a comment.
func markers(doc *ast.CommentGroup) map[string][]string {
	if doc == nil {
		return nil
	}
	found := map[string][]string{}
	for _, c := range doc.List {
		line, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), "+")
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		found[name] = append(found[name], strings.TrimSpace(value))
	}
	return found
}

func has(m map[string][]string, name string) bool { return m[name] != nil }

func first(m map[string][]string, name string) string {
	if len(m[name]) == 0 {
		return ""
	}
	return m[name][0]
}
