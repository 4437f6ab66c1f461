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
	path    string
	types   map[string]*typeMarkers
	consts  map[string]constant
	imports map[string]string // the paths of the files' imports, by name
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
	typeName string // "" if the value has none
	value    ast.Expr
}

func parsePackage(dir, path string) (*pkg, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", path, err)
	}
	p := &pkg{path: path, types: map[string]*typeMarkers{}, consts: map[string]constant{}, imports: map[string]string{}}
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
	return p, nil
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
		case *ast.ImportSpec:
			if imported, err := strconv.Unquote(s.Path.Value); err == nil && s.Name != nil {
				p.imports[s.Name.Name] = imported
			}
		case *ast.ValueSpec:
			if g.Tok == token.CONST {
				p.addConstants(s)
			}
		}
	}
}

// addConstants adds constants whose type is named in front of the value, or by a conversion.
func (p *pkg) addConstants(s *ast.ValueSpec) {
	for i, n := range s.Names {
		if i >= len(s.Values) {
			return
		}
		c := constant{value: s.Values[i]}
		named := s.Type
		if call, ok := c.value.(*ast.CallExpr); ok && named == nil {
			named = call.Fun
		}
		if t, ok := named.(*ast.Ident); ok {
			c.typeName = t.Name
		}
		p.consts[n.Name] = c
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

// resolve collects the values of enums, and replaces references to constants. It finds the
// constants of other packages by their import paths.
func (p *pkg) resolve(all map[string]*pkg) error {
	for name, c := range p.consts {
		if t := p.types[c.typeName]; t != nil && t.enum {
			v, err := p.text(c.value, all)
			if err != nil {
				return fmt.Errorf("enum %s.%s: %s: %w", p.path, c.typeName, name, err)
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

// text returns the value of a constant expression: a string, a conversion, or the name of another
// constant.
func (p *pkg) text(value ast.Expr, all map[string]*pkg) (string, error) {
	switch value := value.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(value.Value)
	case *ast.CallExpr:
		if len(value.Args) == 1 {
			return p.text(value.Args[0], all)
		}
	case *ast.Ident:
		if c, ok := p.consts[value.Name]; ok {
			return p.text(c.value, all)
		}
	case *ast.SelectorExpr:
		in, ok := value.X.(*ast.Ident)
		if !ok {
			break
		}
		if of := all[p.imports[in.Name]]; of != nil {
			return of.text(value.Sel, all)
		}
	}
	return "", fmt.Errorf("a value of the form %T is not known", value)
}

// deref replaces "ref(Name)" by the constant's value.
func (p *pkg) deref(value *string) error {
	ref, ok := strings.CutPrefix(*value, "ref(")
	if !ok {
		return nil
	}
	name := strings.TrimSuffix(ref, ")")
	literal, ok := p.consts[name].value.(*ast.BasicLit)
	if !ok {
		return fmt.Errorf("default refers to %q, which is no constant with a literal", name)
	}
	*value = literal.Value
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
