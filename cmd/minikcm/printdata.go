package main

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, value any) error {
	data, err := json.MarshalIndent(value, "", "    ")
	return write(w, append(data, '\n'), err)
}

// printYAML prints a value as YAML.
func printYAML(w io.Writer, value any) error {
	data, err := yaml.Marshal(value)
	return write(w, data, err)
}

// write prints data, unless making it has failed.
func write(w io.Writer, data []byte, err error) error {
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
