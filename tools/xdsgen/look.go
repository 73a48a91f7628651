package main

import (
	"context"
	"io"

	"github.com/xdsforge/xdsforge/gen"
)

// explain describes the code that is generated from the descriptors in the arguments.
func (o *options) explain(ctx context.Context, stdout io.Writer) (bool, error) {
	_, paths, err := find(o.args)
	if err != nil {
		return false, err
	}
	inputs, err := o.inputs(paths)
	if err != nil {
		return false, err
	}
	for _, in := range inputs {
		text, err := in.Explain(ctx)
		if err != nil {
			return false, err
		}
		if _, err := stdout.Write(text); err != nil {
			return false, err
		}
	}
	return true, nil
}

// schema prints the language as a JSON Schema.
func (o *options) schema(_ context.Context, stdout io.Writer) (bool, error) {
	text, err := gen.Schema()
	if err != nil {
		return false, err
	}
	_, err = stdout.Write(text)
	return true, err
}
