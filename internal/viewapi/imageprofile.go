package viewapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/kubeletsim"
)

//go:embed imageprofile.yaml
var imageProfileDefinition []byte

func imageProfiles() view {
	return view{
		kind: "ImageProfile", label: kubeletsim.LabelImage, definition: imageProfileDefinition,
		encode: encodeProfile, decode: decodeProfile, problems: profileProblems,
	}
}

func profileProblems(c *corev1.ConfigMap) []problem {
	var all []problem
	for _, p := range kubeletsim.CheckImageProfile(c) {
		field := fieldOf(p.Key)
		if p.Field != "" {
			field += "." + p.Field
		}
		all = append(all, problem{field: field, why: p.Why().Error(), text: p.String()})
	}
	return all
}

// lists are the fields that are lists, with their keys in a ConfigMap, which has an element in each line.
var lists = map[string]string{"images": "image", "commands": "command", "entrypoint": "entrypoint", "args": "args"}

// texts are the fields that are texts, with their keys.
var texts = map[string]string{
	"user": "user", "content": "content", "size": "size", "pullError": "pull-error", "pullDuration": "pull-duration", "files": "files",
	"exitAfter": "exit-after", "stopDelay": "stop-delay", "readyDelay": "ready-delay", "log": "log", "logEvery": "log-every",
	"http": "http", "grpc": "grpc",
}

const (
	// exitField is a number, and exitKey its key.
	exitField = "exitCode"
	exitKey   = "exit-code"
	// serverField is a description of a server, as an object; in the ConfigMap, a text in YAML.
	serverField = "server"
	// programsField has scripts by name; in the ConfigMap, each has a key that begins with programPrefix.
	programsField = "programs"
	programPrefix = "program."
)

func encodeProfile(spec []byte, c *corev1.ConfigMap) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(spec, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := encodeField(name, fields[name], c.Data); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
	return nil
}

func encodeField(name string, value []byte, data map[string]string) error {
	switch {
	case lists[name] != "":
		var all []string
		err := json.Unmarshal(value, &all)
		data[lists[name]] = strings.Join(all, "\n")
		return err
	case texts[name] != "":
		var text string
		err := json.Unmarshal(value, &text)
		data[texts[name]] = text
		return err
	case name == exitField:
		data[exitKey] = string(value)
	case name == serverField:
		text, err := yaml.JSONToYAML(value)
		data[serverField] = string(text)
		return err
	case name == programsField:
		var all map[string]string
		err := json.Unmarshal(value, &all)
		for program, script := range all {
			data[programPrefix+program] = script
		}
		return err
	}
	return nil // pruned by the schema
}

// fieldOf returns the field of a key; empty if there is none.
func fieldOf(key string) string {
	switch key {
	case exitKey:
		return exitField
	case serverField:
		return serverField
	}
	if name, ok := strings.CutPrefix(key, programPrefix); ok {
		return programsField + "." + name
	}
	for _, fields := range []map[string]string{texts, lists} {
		for name, is := range fields {
			if is == key {
				return name
			}
		}
	}
	return ""
}

func decodeProfile(c *corev1.ConfigMap) map[string]any {
	spec := map[string]any{}
	for name, key := range lists {
		if text := strings.TrimSpace(c.Data[key]); text != "" {
			var all []string
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" {
					all = append(all, line)
				}
			}
			spec[name] = all
		}
	}
	for name, key := range texts {
		if text, ok := c.Data[key]; ok {
			spec[name] = text
		}
	}
	if code, err := strconv.Atoi(c.Data[exitKey]); err == nil {
		spec[exitField] = code
	}
	programs := map[string]string{}
	for key, script := range c.Data {
		if name, ok := strings.CutPrefix(key, programPrefix); ok {
			programs[name] = script
		}
	}
	if len(programs) > 0 {
		spec[programsField] = programs
	}
	var server map[string]any
	if text, ok := c.Data[serverField]; ok && yaml.Unmarshal([]byte(text), &server) == nil { // else it is a problem
		spec[serverField] = server
	}
	return spec
}
