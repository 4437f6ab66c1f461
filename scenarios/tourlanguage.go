package scenarios

import (
	"embed"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

//go:embed tourtexts
var tourTexts embed.FS

// Languages returns the languages of the tours' texts: en, in which they are written, and one
// for each catalog, by their codes of ISO 639.
func Languages() []string { return []string{"en", "zh"} }

// tourText has the texts of a tour in another language, one for each text of its steps.
type tourText struct {
	Description string   `yaml:"description"`
	Says        []string `yaml:"says"`
}

// textsIn returns the catalog of a language, by the names of tours.
func textsIn(language string) (map[string]tourText, error) {
	data, err := tourTexts.ReadFile("tourtexts/" + language + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there are no tours in the language %q; there are %v", language, Languages())
	}
	var texts map[string]tourText
	if err := yaml.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf("reading the texts of tours: %w", err)
	}
	return texts, nil
}

// InLanguage returns a tour whose description and texts are in one of the Languages. A tour that
// the catalog does not have stays as it is.
func InLanguage(tour *Scenario, language string) (*Scenario, error) {
	if language == "en" {
		return tour, nil
	}
	texts, err := textsIn(language)
	if err != nil {
		return nil, err
	}
	text, found := texts[tour.Metadata.Name]
	if !found {
		return tour, nil
	}
	in := *tour
	in.Spec.Description = text.Description
	in.Spec.Steps = slices.Clone(tour.Spec.Steps)
	says := text.Says
	for i := range in.Spec.Steps {
		if in.Spec.Steps[i].Say != "" && len(says) > 0 {
			in.Spec.Steps[i].Say, says = says[0], says[1:]
		}
	}
	return &in, nil
}
