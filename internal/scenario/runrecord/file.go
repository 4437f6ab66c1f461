package runrecord

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// FileName is the name of a run's file in a directory of its own.
const FileName = "run.json"

// Save writes the run as JSON.
func (r *Run) Save(w io.Writer) error {
	encoder := json.NewEncoder(w)
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the run of %s: %w", r.Scenario.Name, err)
	}
	return nil
}

// KindList is the kind of a file with several runs.
const KindList = "ScenarioRunList"

// list is a file with several runs.
type list struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []*Run `json:"items"`
}

// SaveAll writes runs as JSON: one as Save does, and several as a list.
func SaveAll(w io.Writer, runs []*Run) error {
	if len(runs) == 1 {
		return runs[0].Save(w)
	}
	if err := json.NewEncoder(w).Encode(list{APIVersion, KindList, runs}); err != nil {
		return fmt.Errorf("writing %d runs: %w", len(runs), err)
	}
	return nil
}

// Load reads a run that was saved, from its file or from the directory that it is in.
func Load(path string) (*Run, error) {
	runs, err := LoadAll(path)
	if err != nil {
		return nil, err
	}
	if len(runs) != 1 {
		return nil, fmt.Errorf("%s has %d runs, and one is needed: save each with \"minikcm scenario run --save DIR\"", path, len(runs))
	}
	return runs[0], nil
}

// LoadAll reads the runs that were saved in a file, or in the directory that it is in.
func LoadAll(path string) ([]*Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading a saved run: %w", err)
	}
	if info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && info.IsDir() {
		return nil, fmt.Errorf("the directory %s has no run in it: there is no %s", filepath.Dir(path), FileName)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a saved run: %w", err)
	}
	var all list
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s is not a saved run: %w", path, err)
	}
	runs := all.Items
	if all.Kind != KindList {
		var run Run
		if err := json.Unmarshal(data, &run); err != nil {
			return nil, fmt.Errorf("%s is not a saved run: %w", path, err)
		}
		runs = []*Run{&run}
	}
	for _, run := range runs {
		switch {
		case run == nil || run.Kind != Kind:
			kind := all.Kind
			if run != nil {
				kind = run.Kind
			}
			return nil, fmt.Errorf("%s is not a saved run: its kind is %q, not %s; \"minikcm scenario run --save\" makes one", path, kind, Kind)
		case run.APIVersion != APIVersion:
			return nil, fmt.Errorf("%s was saved as %s, and this minikcm reads %s", path, run.APIVersion, APIVersion)
		}
	}
	return runs, nil
}
