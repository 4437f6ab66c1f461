package releases

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// gateSources are the folders with the gates of kube-apiserver and of the components beside it.
var gateSources = map[string]string{
	"kubernetes": "pkg/features", "apiserver": "pkg/features", "apiextensions-apiserver": "pkg/features", "client-go": "features",
	"controller-manager": "pkg/features", "component-base": ".",
}

// spec is the state of a gate in a release.
type spec struct {
	stage      string
	on, locked bool
	since      int
}

func (s spec) String() string {
	text := strings.ToLower(s.stage) + ":off"
	if s.on {
		text = strings.ToLower(s.stage) + ":on"
	}
	if s.locked {
		text += "!"
	}
	return text
}

// gatesOf returns the gates of a release.
func gatesOf(patch string) (map[string]spec, error) {
	all := map[string]spec{}
	minor, err := strconv.Atoi(strings.Split(patch, ".")[1])
	if err != nil {
		return nil, err
	}
	for module, folder := range gateSources {
		dir, err := source(module, patch)
		if err != nil {
			return nil, err
		}
		files, err := goFiles(filepath.Join(dir, folder))
		if err != nil {
			return nil, err
		}
		names := map[string]string{}
		var parsed []*ast.File
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return nil, err
			}
			readNames(file, names)
			parsed = append(parsed, file)
		}
		for _, file := range parsed {
			readGates(file, minor, names, all)
		}
	}
	return all, nil
}

// goFiles returns the files beneath a folder that may define gates, without tests.
func goFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && strings.Contains(path, "features") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// readNames adds the values of the string constants of a file.
func readNames(file *ast.File, names map[string]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if text, ok := v.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				names[v.Names[0].Name] = strings.Trim(text.Value, `"`)
			}
		}
		return true
	})
}

// readGates adds the gates that a file lists in maps by constants.
func readGates(file *ast.File, minor int, names map[string]string, all map[string]spec) {
	ast.Inspect(file, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		of, ok := list.Type.(*ast.MapType)
		if !ok || last(of.Key) != "Feature" {
			return true
		}
		for _, e := range list.Elts {
			pair := e.(*ast.KeyValueExpr)
			value, ok := pair.Value.(*ast.CompositeLit)
			if !ok {
				continue
			}
			if s, ok := specAt(value, minor); ok {
				all[cmp.Or(names[last(pair.Key)], last(pair.Key))] = s
			}
		}
		return false
	})
}

// last returns the name in an identifier or a selector, such as GA in featuregate.GA.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// specAt reads a spec, or the one of a list of versioned specs that holds in a release.
func specAt(lit *ast.CompositeLit, minor int) (spec, bool) {
	if len(lit.Elts) == 0 {
		return spec{}, false
	}
	if _, single := lit.Elts[0].(*ast.KeyValueExpr); single {
		return specOf(lit), true
	}
	var found spec
	ok := false
	for _, e := range lit.Elts {
		inner, isSpec := e.(*ast.CompositeLit)
		if !isSpec {
			return spec{}, false // the dependencies of a gate
		}
		if s := specOf(inner); s.since <= minor {
			found, ok = s, true
		}
	}
	return found, ok
}

func specOf(lit *ast.CompositeLit) spec {
	s := spec{stage: "GA"}
	for _, e := range lit.Elts {
		pair := e.(*ast.KeyValueExpr)
		switch last(pair.Key) {
		case "Default":
			s.on = last(pair.Value) == "true"
		case "LockToDefault":
			s.locked = last(pair.Value) == "true"
		case "PreRelease":
			s.stage = last(pair.Value)
		case "Version":
			if call, ok := pair.Value.(*ast.CallExpr); ok && len(call.Args) == 1 {
				text := strings.Trim(call.Args[0].(*ast.BasicLit).Value, `"`)
				s.since, _ = strconv.Atoi(strings.TrimPrefix(text, "1."))
			}
		}
	}
	if s.stage == "PreAlpha" || s.stage == "" {
		s.stage = "GA"
	}
	return s
}

// recordGates lists, for each gate, the releases in which it came, changed or went.
func recordGates() (string, error) {
	lines := map[string][]string{}
	before := map[string]spec{}
	for i, patch := range patches {
		now, err := gatesOf(patch)
		if err != nil {
			return "", err
		}
		for name, s := range now {
			if was, ok := before[name]; !ok || was.String() != s.String() {
				lines[name] = append(lines[name], fmt.Sprintf("%d=%s", oldest+i, s))
			}
		}
		for name := range before {
			if _, ok := now[name]; !ok {
				lines[name] = append(lines[name], fmt.Sprintf("%d=gone", oldest+i))
			}
		}
		before = now
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintln(&b, name, strings.Join(lines[name], " "))
	}
	return b.String(), nil
}
