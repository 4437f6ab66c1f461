package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// problemsOf runs all checks except for the generators on files and returns the problems
// without positions.
func problemsOf(t *testing.T, files map[string]string) []string {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, src := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(src)}
	}
	tree, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks() {
		tree.check = c.name
		c.run(tree)
	}
	slices.Sort(tree.problems)
	return tree.problems
}

func TestChecks(t *testing.T) {
	doc := func(pkg string) string { return "// Package " + pkg + " is for the test.\npackage " + pkg + "\n" }
	pure := func(pkg string) string {
		return "// Package " + pkg + " is for the test.\n//\n" + directivePure + "\npackage " + pkg + "\n"
	}
	long := strings.Repeat("\t_ = 1\n", maxFunction)
	for name, c := range map[string]struct {
		path, src string
		want      string // part of the only problem, or empty for none
	}{
		"clean":                {"store/a.go", "package store\nimport _ \"minikcm.dev/minikcm/clock\"\n", ""},
		"upwards":              {"store/a.go", "package store\nimport _ \"minikcm.dev/minikcm/apiserver\"\n", "store must not import apiserver"},
		"sideways":             {"controllers/x/a.go", "package x\nimport _ \"minikcm.dev/minikcm/apiserver\"\n", "controllers/x must not import"},
		"on a detour":          {"internal/x/doc.go", doc("x") + "import _ \"minikcm.dev/minikcm/store\"\n", "kubeletsim must not import internal/x, which imports store"},
		"root package":         {"scenarios/a.go", "package scenarios\nimport _ \"minikcm.dev/minikcm\"\n", ""},
		"scenarios from root":  {"a.go", "package minikcm\nimport _ \"minikcm.dev/minikcm/scenarios\"\n", ". must not import scenarios"},
		"test on a cluster":    {"controllers/x/a_test.go", "package x\nimport _ \"minikcm.dev/minikcm/minikcmtest\"\n", ""},
		"code on a cluster":    {"controllers/x/a.go", "package x\nimport _ \"minikcm.dev/minikcm/minikcmtest\"\n", "must not import"},
		"upstream":             {"store/a.go", "package store\nimport _ \"k8s.io/kubernetes/pkg/apis\"\n", "stays out"},
		"operators' library":   {"store/a.go", "package store\nimport _ \"sigs.k8s.io/controller-runtime/pkg/client\"\n", "only minikcmtest/ctrltest, test/hunt does"},
		"operators in a test":  {"store/a_test.go", "package store\nimport _ \"sigs.k8s.io/controller-runtime/pkg/client\"\n", ""},
		"operators in memory":  {"minikcmtest/ctrltest/doc.go", doc("ctrltest") + "import _ \"sigs.k8s.io/controller-runtime\"\n", ""},
		"unknown folder":       {"new/a.go", "package new\n", "is not in the table"},
		"client in a spec":     {"internal/scenario/spec/doc.go", doc("spec") + "import _ \"k8s.io/client-go/rest\"\n", "knows no cluster"},
		"layer above":          {"apiserver/internal/codec/doc.go", doc("codec") + "import _ \"minikcm.dev/minikcm/apiserver/internal/verbs\"\n", "apiserver/internal/codec must not import"},
		"own decision":         {"controllers/internal/job/doc.go", doc("job") + "import _ \"minikcm.dev/minikcm/controllers/internal/job/decide\"\n", ""},
		"another's decision":   {"controllers/x/doc.go", doc("x") + "import _ \"minikcm.dev/minikcm/controllers/internal/job/decide\"\n", "another controller's decision"},
		"decision":             {"controllers/internal/job/decide/doc.go", pure("decide") + "import _ \"context\"\n", "pure code imports context"},
		"pool in pure code":    {"store/deeper/doc.go", pure("deeper") + "import \"sync\"\nvar p sync.Pool\n", ""},
		"memory in pure code":  {"store/deeper/doc.go", pure("deeper") + "import \"sync\"\nvar m sync.Map\n", ""},
		"lock in pure code":    {"store/deeper/doc.go", pure("deeper") + "import \"sync\"\nvar p sync.Pool\nvar m sync.Mutex\n", "pure code imports sync"},
		"unmarked decision":    {"controllers/x/decide/doc.go", doc("decide"), "does not say //minikcm:pure"},
		"client in pure code":  {"store/deeper/doc.go", pure("deeper") + "import _ \"k8s.io/client-go/kubernetes\"\n", "pure code imports k8s.io/client-go"},
		"test of pure code":    {"store/a_test.go", "package store\nimport _ \"context\"\n", ""},
		"pure on impure":       {"store/deeper/doc.go", pure("deeper") + "import _ \"minikcm.dev/minikcm/clock\"\n", "does not say //minikcm:pure"},
		"pure on pure":         {"store/deeper/doc.go", pure("deeper") + "import _ \"strings\"\n", ""},
		"time":                 {"store/a.go", "package store\nimport \"time\"\nvar _ = time.Now()\n", "time.Now outside clock/"},
		"time as a value":      {"store/a_test.go", "package store\nimport t \"time\"\nvar _ = t.Sleep\n", "t.Sleep outside clock/"},
		"duration":             {"store/a.go", "package store\nimport \"time\"\nvar _ = time.Second\n", ""},
		"in the clock":         {"clock/a.go", "package clock\nimport \"time\"\nvar _ = time.Now()\n", ""},
		"allowed":              {"store/a.go", "package store\nimport \"time\"\nvar _ = time.Now() //verify:allow the test says so\n", ""},
		"allowed, no reason":   {"store/a.go", "package store\nimport \"time\"\nvar _ = time.Now() //verify:allow \n", "time.Now outside clock/"},
		"chance":               {"store/a.go", "package store\nimport \"math/rand/v2\"\nvar _ = rand.IntN(3)\n", "rand.IntN outside clock/"},
		"seeded chance":        {"store/a_test.go", "package store\nimport \"math/rand/v2\"\nvar _ = rand.New(rand.NewPCG(1, 2))\n", ""},
		"object's time":        {"store/a.go", "package store\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\nvar _ = metav1.Now()\n", "metav1.Now outside clock/"},
		"long function":        {"store/a.go", "package store\nfunc f() {\n" + long + "}\n", "f has 82 lines"},
		"long generated":       {"store/a.go", "// Code generated by x. DO NOT EDIT.\n\npackage store\nfunc f() {\n" + long + "}\n", ""},
		"long file":            {"store/a.go", "package store\n" + strings.Repeat("// a line\n", maxFile), "the file has 601 lines"},
		"init":                 {"store/a.go", "package store\nfunc init() {}\n", "init function"},
		"context":              {"store/a.go", "package store\nimport \"context\"\ntype t struct { ctx context.Context }\n", "a context in a struct"},
		"context of its own":   {"store/a.go", "package store\nimport \"context\"\ntype t struct { ctx context.Context; cancel context.CancelFunc }\n", "a context in a struct"},
		"second comment":       {"store/a.go", "// Package store is more.\npackage store\n", "is in doc.go"},
		"testdata":             {"store/testdata/a.go", "package broken", ""},
		"no doc":               {"store/deeper/a.go", "package deeper\n", "no doc.go"},
		"good link":            {"docs/a.md", "[doc](../doc.go), [there](https://example.invalid/x), [here](#x)\n# X", ""},
		"dead heading":         {"docs/a.md", "[here](#y)\n# X", "docs/a.md:1: the link to #y has no such heading"},
		"dead link":            {"docs/a.md", "see\n[doc](../gone.go#x)", "docs/a.md:2: the link to ../gone.go"},
		"person for a program": {"store/a.go", "package store\n// the watcher is told of it\nvar _ = 1\n", `"told" in a comment`},
		"person in docs":       {"docs/a.md", "a line\nNobody reads it\n", `docs/a.md:2: "Nobody"`},
		"quoted person":        {"docs/a.md", "the user `nobody`\n```sh\ntell me\n```\n", ""},
		"nameless phrases":     {"store/a.go", "package store\n// its name is that of the pod\n\n// the time is what a client\n// sees\nvar _ = 1\n", `"that of" in a comment, one of 2, where 1 are usual`},
		"a nameless phrase":    {"store/a.go", "package store\n// its name is that of the pod\nvar _ = 1\n", ""},
		"tell apart":           {"store/a.go", "package store\n// the names tell the two kinds apart\nvar _ = 1\n", ""},
		"nolint":               {"store/a.go", "package store\nvar _ = 1 //nolint:x // a reason\n", "a nolint comment"},
		"empty doc":            {"store/deeper/doc.go", "package deeper\n", "the package has no comment"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"doc.go": doc("minikcm"), "store/doc.go": doc("store"), "clock/doc.go": doc("clock"),
				"scenarios/doc.go": doc("scenarios"), "controllers/x/doc.go": doc("x"),
				"kubeletsim/doc.go": doc("kubeletsim") + "import _ \"minikcm.dev/minikcm/internal/x\"\n",
			}
			if strings.HasPrefix(c.path, "new/") {
				files["new/doc.go"] = doc("new")
			}
			files[c.path] = c.src
			got := problemsOf(t, files)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("got %q, want nothing", got)
			case c.want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), c.want)):
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSubjects(t *testing.T) {
	for text, want := range map[string]string{
		"store: keep the revision of a snapshot":         "",
		"scenarios, cmd: break running clusters":         "",
		"internal/inflight: add work that counts itself": "",
		"docs: say how to test an operator.":             "is not",
		"Keep no context in a repetition":                "is not",
		"store:keep":                                     "is not",
		"store: " + strings.Repeat("x", maxSubject):      "has more than",
	} {
		if got := wrongSubject(text); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Links name headings as GitHub makes anchors of them.
func TestAnchors(t *testing.T) {
	document := "# `minikcm up`, and [more](x.md)\n## Limits\n```sh\n# no heading\n```\n<a id=\"old\"></a>\n## Limits\n"
	got := anchorsOf(document)
	for _, want := range []string{"minikcm-up-and-more", "limits", "limits-1", "old"} {
		if !got[want] {
			t.Errorf("no anchor %s in %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("anchors are %v", got)
	}
}
