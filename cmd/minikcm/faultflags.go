package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios"
	"minikcm.dev/minikcm/scenarios/fault"
)

// namesField is the field whose values are arguments instead of a flag.
const namesField = "names"

// shorthands are the one-letter flags, the same as kubectl's.
var shorthands = map[string]string{"namespace": "n", "selector": "l"}

// partFlags builds a fault of one part from arguments and flags. There is a flag for each
// field of the part and of the fault itself, by the tables in the package fault, with its
// description in the scenario schema as usage.
type partFlags struct{ part fault.Part }

func (f *partFlags) hasNames() bool {
	return slices.ContainsFunc(f.part.AllFields(), func(field fault.Field) bool { return field.Name == namesField })
}

func (f *partFlags) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	for _, field := range f.part.AllFields() {
		if field.Name != namesField {
			addField(flags, field, usage(f.part.Definition(), field, f.part.Takers(field.Name)))
		}
	}
	for _, field := range fault.TimeFields() {
		addField(flags, field, usage("Fault", field, nil))
	}
}

// addField adds the flag of a field.
func addField(flags *pflag.FlagSet, field fault.Field, usage string) {
	name, short := flagName(field.Name), shorthands[field.Name]
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[fault.Duration]():
		flags.DurationP(name, short, 0, usage)
	case t.Kind() == reflect.Int:
		flags.IntP(name, short, 0, usage)
	case t.Kind() == reflect.Bool:
		flags.BoolP(name, short, false, usage)
	case t.Kind() == reflect.Slice:
		flags.StringSliceP(name, short, nil, usage)
	default:
		flags.StringP(name, short, "", usage)
	}
}

// value returns the value of a field's flag as YAML decodes it.
func value(flags *pflag.FlagSet, name string) any {
	flag := flags.Lookup(name)
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	var read any
	_ = yaml.Unmarshal([]byte(flag.Value.String()), &read)
	switch flag.Value.Type() {
	case "int", "bool":
		return read
	}
	return flag.Value.String()
}

// flagName is the name of a field's flag: field-selector for fieldSelector.
func flagName(field string) string {
	var name strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			name.WriteByte('-')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// usage returns the schema's description of a field without the leading field name,
// followed by the actions that the field applies to.
func usage(definition string, field fault.Field, takers []string) string {
	text := strings.TrimSuffix(scenarios.Describe(definition, field.Name), ".")
	for _, verb := range []string{" is ", " are ", " says that "} {
		if first, rest, ok := strings.Cut(text, verb); ok && strings.EqualFold(first, field.Name) {
			text = rest
			break
		}
	}
	if len(takers) > 0 {
		text += " (" + strings.Join(takers, ", ") + ")"
	}
	return text
}

// check refuses arguments that name no action.
func (f *partFlags) check(args []string) error {
	switch {
	case len(args) == 0:
		return noAction(f.part, "")
	case !isAction(f.part, args[0]):
		return noAction(f.part, args[0])
	case len(args) > 1 && !f.hasNames():
		return fmt.Errorf("unexpected argument %q: %s %s takes no names", args[1], f.part.One, args[0])
	}
	return nil
}

// fault builds the fault that the arguments and flags describe.
func (f *partFlags) fault(cmd *cobra.Command, args []string) (*fault.Fault, error) {
	part := map[string]any{"action": args[0]}
	if len(args) > 1 {
		part[namesField] = args[1:]
	}
	document := map[string]any{f.part.Name: part}
	set := func(into map[string]any, fields []fault.Field) {
		for _, field := range fields {
			if name := flagName(field.Name); field.Name != namesField && cmd.Flags().Changed(name) {
				into[field.Name] = value(cmd.Flags(), name)
			}
		}
	}
	set(part, f.part.AllFields())
	set(document, fault.TimeFields())
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encoding the fault: %w", err)
	}
	faults, err := fault.Parse("", text)
	var problems spec.Problems
	if errors.As(err, &problems) {
		return nil, f.inFlags(cmd, problems)
	}
	if err != nil {
		return nil, err
	}
	return faults[0], nil
}

// inFlags rewrites problems of fields as problems of the corresponding flags.
func (f *partFlags) inFlags(cmd *cobra.Command, problems spec.Problems) error {
	texts := map[string]bool{}
	for _, p := range problems {
		field := p.Field[strings.LastIndex(p.Field, ".")+1:]
		field, _, _ = strings.Cut(field, "[")
		subject := "--" + flagName(field) + ": "
		switch {
		case field == namesField:
			subject = "NAME: "
		case cmd.Flags().Lookup(flagName(field)) == nil:
			subject = ""
		}
		texts[subject+p.Message] = true
	}
	return fmt.Errorf("%s\n%q lists the flags", strings.Join(slices.Sorted(maps.Keys(texts)), "\n"), cmd.CommandPath()+" --help")
}
