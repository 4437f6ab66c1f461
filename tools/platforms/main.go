// Command platforms checks the types of all packages of a module, and of their tests, for the
// platforms of its releases. It reads dependencies without the bodies of their functions, so that
// it costs a fraction of a build for each platform.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	root := flag.String("root", ".", "the folder of the module")
	platforms := flag.String("platforms", "linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "the platforms, GOOS/GOARCH, separated by commas")
	tests := flag.Bool("tests", true, "check tests, too")
	flag.Parse()
	top, err := filepath.Abs(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "platforms:", err)
		os.Exit(2)
	}
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	failed := false
	for platform := range strings.SplitSeq(*platforms, ",") {
		problems, err := check(top, platform, patterns, *tests)
		if err != nil {
			fmt.Fprintf(os.Stderr, "platforms: %s: %v\n", platform, err)
			os.Exit(2)
		}
		for _, p := range problems {
			fmt.Printf("%s: %s\n", platform, p)
		}
		failed = failed || len(problems) > 0
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the errors of a type check for a platform.
func check(top, platform string, patterns []string, tests bool) ([]string, error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
		Dir:   top,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		Tests: tests,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, top+string(filepath.Separator)) {
				dropBodies(file)
			}
			return file, err
		},
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var problems []string
	seen := map[string]bool{}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if p.Module == nil || !p.Module.Main {
			return // without bodies, imports are unused
		}
		if strings.HasSuffix(p.PkgPath, ".test") {
			return // the main package of a test, which go makes
		}
		for _, e := range p.Errors {
			if text := fmt.Sprintf("%s: %s", cmp.Or(strings.TrimPrefix(e.Pos, top+"/"), p.PkgPath), e.Msg); !seen[text] {
				seen[text] = true
				problems = append(problems, text)
			}
		}
	})
	return problems, nil
}

// dropBodies removes the bodies of functions.
func dropBodies(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
