package main

import (
	"context"
	"io"

	"github.com/xdsforge/xdsforge/gen"
)

// explain describes the code that is generated from the descriptors in the arguments.
func (o *options) explain(ctx context.Context, stdout io.Writer) (bool, error) {
	in, err := o.input(o.args)
	if err != nil {
		return false, err
	}
	text, err := in.Explain(ctx)
	if err != nil {
		return false, err
	}
	_, err = stdout.Write(text)
	return true, err
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
