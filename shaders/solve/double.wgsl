// Numbers of 64 bits, where the device has them. Records of contacts lie one after the other: what reads a number from the
// words of a vector knows 32 bits only.

alias real = f64;
alias real2 = vec2<f64>;
alias real3 = vec3<f64>;
alias real4 = vec4<f64>;
alias ProxWords = Prox;
alias FrameWords = Frame;

