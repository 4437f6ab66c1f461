package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios"
)

// errTourEnded is the failure of a tour that the presenter has ended.
var errTourEnded = errors.New("ended by the presenter")

// tourWords has the words of the presenter in a language.
type tourWords struct {
	step, prompt, again, first, keys, next string
}

var tourWordsIn = map[string]tourWords{
	"en": {
		step: "step %d of %d", prompt: "[Enter: go on, b: back, q: quit] ", again: " (once more; the cluster stays as it is)", first: "This is the first step.",
		keys: "Enter goes on, b and Enter goes back, q and Enter ends the tour.", next: "The next tour: minikcm demo %s (%s)",
	},
	"zh": {
		step: "第 %d 步，共 %d 步", prompt: "[Enter：继续，b：返回，q：退出] ", again: "（再次显示；集群保持现状）", first: "这是第一步。",
		keys: "按 Enter 继续，按 b 和 Enter 返回，按 q 和 Enter 结束导览。", next: "下一个导览：minikcm demo %s（%s）",
	},
}

// languageOf returns the language of the tours that an environment asks for.
func languageOf(env func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := env(name); value != "" {
			if strings.HasPrefix(value, "zh") {
				return "zh"
			}
			return "en"
		}
	}
	return "en"
}

// toursIn returns the tours with their texts in a language.
func toursIn(language string) ([]*scenarios.Scenario, error) {
	all, err := scenarios.Tours()
	if err != nil {
		return nil, err
	}
	for i, tour := range all {
		if all[i], err = scenarios.InLanguage(tour, language); err != nil {
			return nil, badInput{fmt.Errorf("--language: %w", err)}
		}
	}
	return all, nil
}

// presenter prints the texts of a tour and waits for the presenter's lines.
type presenter struct {
	progress *progress
	words    tourWords
	// width is the terminal's, to which texts are wrapped; 0: they are printed as they are.
	width int
	// lines are the presenter's lines; nil: the tour waits for none.
	lines <-chan string
	// prompt is whether a person answers. Otherwise each line is an Enter.
	prompt bool
	// shown are the texts so far, total is the number of all.
	shown []string
	total int
}

func newPresenter(cmd *cobra.Command, f *demoFlags, tour *scenarios.Scenario) *presenter {
	p := &presenter{progress: newProgress(cmd.OutOrStdout(), f.raw, ""), words: tourWordsIn[f.language], total: countTexts(tour.Spec.Steps)}
	p.progress.allNotes, p.progress.patience, p.progress.brightNotes = true, patience, true
	if isTerminal(cmd.OutOrStdout()) {
		p.width = min(widthOf(cmd.OutOrStdout()), maxTextWidth)
	}
	if !f.noWait {
		p.prompt, p.lines = isTerminal(cmd.InOrStdin()), linesOf(cmd.InOrStdin())
	}
	return p
}

func countTexts(steps []spec.Step) (n int) {
	for i := range steps {
		if steps[i].Say != "" {
			n++
		}
	}
	return n
}

// present prints a text and waits until the presenter goes on. At the end of an input that is no
// terminal, the tour goes on without waiting. Ctrl-D at a terminal ends it.
func (p *presenter) present(ctx context.Context, text string) error {
	p.shown = append(p.shown, text)
	at := len(p.shown) - 1
	p.show(at)
	for p.lines != nil {
		line, more, err := p.answer(ctx)
		if err != nil {
			return err
		}
		if !more {
			if p.lines = nil; p.prompt {
				p.progress.print("\n")
				return errTourEnded
			}
			return nil
		}
		switch {
		case line == "q":
			return errTourEnded
		case line == "b" && at == 0:
			p.progress.print("%s\n", p.words.first)
		case line == "b":
			at--
			p.show(at)
		case line != "" && p.prompt:
			p.progress.print("%s\n", p.words.keys)
		case at < len(p.shown)-1:
			at++
			p.show(at)
		default:
			return nil
		}
	}
	return nil
}

// answer returns the presenter's next line.
func (p *presenter) answer(ctx context.Context) (line string, more bool, err error) {
	if p.prompt {
		defer p.progress.ask(p.progress.paint(faint, p.words.prompt))()
	}
	select {
	case line, more = <-p.lines:
		return strings.TrimSpace(line), more, nil
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}

// show prints the text of a step.
func (p *presenter) show(at int) {
	text, place := strings.TrimSpace(p.shown[at]), fmt.Sprintf(p.words.step, at+1, p.total)
	if p.width > 0 {
		text = wrapped(text, p.width)
	}
	if at < len(p.shown)-1 {
		place += p.words.again
	}
	p.progress.print("\n%s\n%s\n", p.progress.paint(faint, place), text)
}

// next names the tour after one that has come to its end.
func (p *presenter) next(name, language string) error {
	all, err := toursIn(language)
	for i, tour := range all {
		if tour.Metadata.Name == name && i+1 < len(all) {
			p.progress.print(p.words.next+"\n", all[i+1].Metadata.Name, all[i+1].Spec.Description)
		}
	}
	return err
}

// linesOf returns the lines of a reader. It reads until the end of the input or of the process.
func linesOf(r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}
