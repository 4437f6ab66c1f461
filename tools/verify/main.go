package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
)

// check is a named check, which reports problems of a tree.
type check struct {
	name string
	run  func(t *tree)
}

func checks() []check {
	return []check{
		{"imports", checkImports},
		{"purity", checkPurity},
		{"calls", checkCalls},
		{"sizes", checkSizes},
		{"shape", checkShape},
		{"docs", checkDocs},
		{"links", checkLinks},
		{"words", checkWords},
	}
}

func main() {
	root := flag.String("root", ".", "the repository's root")
	generate := flag.Bool("generate", true, "also run the generators and compare their output, and compare the API with the last release")
	flag.Parse()
	problems, err := verify(*root, *generate)
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(2)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	if len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "verify: %d problems\n", len(problems))
		os.Exit(1)
	}
}

func verify(root string, generate bool) ([]string, error) {
	t, err := load(os.DirFS(root))
	if err != nil {
		return nil, err
	}
	for _, c := range checks() {
		t.check = c.name
		c.run(t)
	}
	t.check = "subjects"
	if err := checkSubjects(t, root); err != nil {
		return nil, err
	}
	if generate {
		t.check = "api"
		if err := checkAPI(t, root); err != nil {
			return nil, err
		}
		t.check = "generated"
		if err := checkGenerated(t, root); err != nil {
			return nil, err
		}
	}
	slices.Sort(t.problems)
	return t.problems, nil
}
