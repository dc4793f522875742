// Numbers of 32 bits. Records of contacts are read vector by vector, as `prox_at` and `frame_at` do.

alias real = f32;
alias real2 = vec2f;
alias real3 = vec3f;
alias real4 = vec4f;
alias ProxWords = vec4u;
alias FrameWords = vec4u;

