package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// LoadOptions are for reading scenarios.
type LoadOptions struct {
	// Set holds values of variables, which override the file's.
	Set map[string]string
	// Files resolves relative paths; nil: the machine's file system.
	Files fs.FS
	// Steps are the kinds of steps that a scenario may have.
	Steps []StepKind
	// Cluster checks the description of a cluster beyond its form, and fills in its
	// defaults. CEL compiles an expression that is given these names; holds says that it
	// must be true or false. A nil function checks nothing.
	Cluster func(c *Checker, cluster *Cluster)
	CEL     func(expression string, given []string, holds bool) error
	// Manifest reports whether objects of an API version may stand beside the scenarios
	// of a file, and Beside adds these objects to a scenario. Nil: none may.
	Manifest func(apiVersion string) bool
	Beside   func(c *Checker, s *Scenario, manifests []Object)
	// Kustomize builds the kustomization of a folder of the machine; nil: none can be built.
	Kustomize func(dir string) ([]byte, error)
}

// Load reads the scenarios of a file and checks them. What is wrong with it is a
// Problems.
func Load(path string, opts LoadOptions) ([]*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the scenario: %w", err)
	}
	return Parse(path, data, opts)
}

// Parse reads scenarios from data, whose relative paths are from file's directory. A
// file that has steps to include and no scenario gives none.
func Parse(file string, data []byte, opts LoadOptions) ([]*Scenario, error) {
	var problems Problems
	d := &decoder{file: file, problems: &problems, options: opts, including: []string{filepath.Clean(file)}}
	p := &parsing{decoder: d, declared: map[string]bool{}}
	for _, document := range d.documents(data) {
		p.document(document)
	}
	p.finish()
	return p.scenarios, problems.err()
}

// parsing collects the documents of a file.
type parsing struct {
	*decoder
	scenarios []*Scenario
	// steps says that there are documents of steps to include.
	steps bool
	// manifests are the objects that stand beside the scenarios.
	manifests []Object
	// declared are the variables of all scenarios.
	declared map[string]bool
}

func (p *parsing) document(document *yaml.Node) {
	switch version := child(document, "apiVersion"); {
	case kindOf(document) == KindSteps:
		p.steps = true
		p.stepsDocument(document, nil)
		return
	case p.options.Manifest != nil && version != nil && p.options.Manifest(version.Value):
		var o Object
		plainly(p.decoder, document, reflect.ValueOf(&o).Elem())
		if o.Object != nil {
			p.check(document.Line, "", o.Whole(false))
		}
		p.manifests = append(p.manifests, o)
		return
	}
	s := p.scenario(document, p.declared)
	if slices.ContainsFunc(p.scenarios, func(other *Scenario) bool {
		return other.Metadata.Name == s.Metadata.Name && s.Metadata.Name != ""
	}) {
		p.problem(document.Line, "metadata.name", "there are two scenarios called %s", s.Metadata.Name)
	}
	p.scenarios = append(p.scenarios, s)
}

// finish checks the file as a whole.
func (p *parsing) finish() {
	if len(p.scenarios) == 0 {
		switch {
		case len(p.manifests) > 0:
			p.problem(p.manifests[0].Line, "", "a manifest needs a scenario that sets up what it is for: write one beside it in the file, or name the file in an apply step")
		case !p.steps && len(*p.problems) == 0:
			p.problem(0, "", "there is no scenario in it: begin with apiVersion: %s and kind: %s", APIVersion, Kind)
		}
		return
	}
	if len(p.manifests) > 0 {
		for _, s := range p.scenarios {
			p.options.Beside(&Checker{d: p.decoder, line: p.manifests[0].Line}, s, p.manifests)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.options.Set)) {
		if !p.declared[name] {
			p.problem(0, "", "--set %s: there is no such variable in spec.vars; %s", name, DidYouMean(name, slices.Sorted(maps.Keys(p.declared))))
		}
	}
}

// IsScenario reports whether data is meant to hold scenarios or steps. Data that cannot be
// read is, unless a document before says otherwise.
func IsScenario(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	others := 0
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return others == 0 && !errors.Is(err, io.EOF)
		}
		if len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null" {
			continue
		}
		version := child(document.Content[0], "apiVersion")
		kind := kindOf(document.Content[0])
		if version != nil && strings.HasPrefix(version.Value, "minikcm.dev/") || kind == Kind || kind == KindSteps {
			return true
		}
		others++
	}
}

// documents are the parsed documents that are not empty.
func (d *decoder) documents(data []byte) []*yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var all []*yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			d.syntaxError(data, err)
			return all
		}
		if len(document.Content) > 0 && document.Content[0].ShortTag() != "!!null" && d.plain(document.Content[0]) {
			all = append(all, document.Content[0])
		}
	}
}

// bareVariable is one without quotes, whose braces may be taken for others.
var bareVariable = regexp.MustCompile(`[:,[{-] *\$\{`)

// syntaxError reports why data is no YAML.
func (d *decoder) syntaxError(data []byte, err error) {
	d.decodingError(&yaml.Node{}, "", err)
	p := &(*d.problems)[len(*d.problems)-1]
	p.Message = strings.TrimPrefix(p.Message, "yaml: ")
	lines := bytes.Split(data, []byte("\n"))
	near := bytes.Join(lines[min(max(p.Line-1, 0), len(lines)):min(p.Line+2, len(lines))], []byte("\n"))
	switch {
	case strings.Contains(p.Message, "tab character"):
		p.Message += ": indent with spaces"
	case bareVariable.Match(near):
		p.Message += `: within {} and [] a variable stands in quotes, as in {target: "${NAME}"}; a number in an object stands on a line of its own, without`
	}
}

func kindOf(document *yaml.Node) string {
	if kind := child(document, "kind"); kind != nil {
		return kind.Value
	}
	return ""
}

// child is the value of a key, or nil.
func child(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var next *yaml.Node
		if node.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == key {
					next = node.Content[i+1]
				}
			}
		}
		if next == nil {
			return nil
		}
		node = next
	}
	return node
}

func (d *decoder) scenario(document *yaml.Node, declared map[string]bool) *Scenario {
	s := &Scenario{File: d.file}
	own := *d
	own.names, own.lines = &names{}, map[string]int{}
	own.vars = d.variables(child(document, "spec", "vars"), d.options.Set, declared)
	own.decode(document, "", reflect.ValueOf(s).Elem())
	s.File = d.file
	own.after().checkScenario(s, document.Line)
	return s
}

// variables reads vars. Those in set need no default.
func (d *decoder) variables(node *yaml.Node, set map[string]string, declared map[string]bool) map[string]string {
	vars := map[string]string{}
	if node == nil || node.Kind != yaml.MappingNode {
		return vars
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		field := "spec.vars." + key.Value
		if !variableName.MatchString(key.Value) {
			d.problem(key.Line, field, "a variable is called with letters, digits and _")
			continue
		}
		if declared != nil {
			declared[key.Value] = true
		}
		given, isSet := set[key.Value]
		switch {
		case isSet:
			vars[key.Value] = given
		case value.ShortTag() == "!!null":
			d.problem(key.Line, field, "the variable is not set: give it by --set %s=VALUE, or write a default", key.Value)
			vars[key.Value] = "0"
		case value.Kind == yaml.ScalarNode:
			vars[key.Value] = d.with(vars).replace(value, field).Value
		}
	}
	return vars
}

// steps reads and checks a list of steps.
func (d *decoder) steps(node *yaml.Node, field string) []Step {
	var steps []Step
	d.decode(node, field, reflect.ValueOf(&steps).Elem())
	d.after().checkSteps(steps, field)
	return steps
}

// stepsDocument reads the document that an include names.
func (d *decoder) stepsDocument(document *yaml.Node, vars map[string]string) []Step {
	var read stepsDocument
	own := *d
	own.names, own.lines = d.names, map[string]int{}
	if own.names == nil {
		own.names = &names{}
	}
	own.vars = d.variables(child(document, "spec", "vars"), vars, nil)
	own.decode(document, "", reflect.ValueOf(&read).Elem())
	own = *own.after()
	if read.APIVersion != APIVersion {
		own.problem(document.Line, "apiVersion", "is %q, but must be %s", read.APIVersion, APIVersion)
	}
	if len(read.Spec.Steps) == 0 {
		own.problem(document.Line, "spec.steps", "is empty: say what to do")
	}
	own.checkSteps(read.Spec.Steps, "spec.steps")
	return read.Spec.Steps
}

// notThere explains the error of reading a path.
func notThere(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s: a path begins at the folder of the file that it is in", path)
	}
	return err
}

// path resolves a path of the file.
func (d *decoder) path(relative string) string {
	if filepath.IsAbs(relative) {
		return filepath.Clean(relative)
	}
	return filepath.Join(filepath.Dir(d.file), relative)
}

func (d *decoder) read(path string) ([]byte, error) {
	if d.options.Files != nil {
		return fs.ReadFile(d.options.Files, filepath.ToSlash(path))
	}
	return os.ReadFile(path)
}
